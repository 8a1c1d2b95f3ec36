"use strict";
// The explorer: a list, the chosen instance, filters. The address after # keeps what is shown.

const PAGE = 50;
const SIGNS = { right: "✓", wrong: "✗", failed: "∅" };
const GRADES = {
  right: "right",
  wrong: "wrong",
  best: "best quarter",
  middle: "middle half",
  worst: "worst quarter",
  failed: "failed: not usable",
};

const root = document.getElementById("explorer");
const part = (name) => root.querySelector(`[data-part=${name}]`);
const form = part("filters");

const isFraction = (value) => typeof value === "number" && !Number.isInteger(value);
const short = (value) => (isFraction(value) ? value.toPrecision(3) : String(value ?? "n/a"));
const figure = (score) => (score === null ? "n/a" : score === 0 ? "0" : score.toFixed(Math.abs(score) < 10 ? 2 : 0));
const sign = (answer) => SIGNS[answer.grade] ?? figure(answer.score);
const judged = (answer) => (answer.reason === null ? GRADES[answer.grade] : `failed: ${answer.reason}`);

function chip(answer, faint) {
  const element = make("span", `chip ${answer.grade}${faint ? " faint" : ""}`);
  const shown = make("span", "", sign(answer));
  shown.setAttribute("aria-hidden", "true");
  element.title = plain(`${answer.setting}: ${judged(answer)}`);
  element.append(shown, make("span", "unseen", ` ${element.title}`));
  return element;
}

function drawList() {
  const pages = Math.max(1, Math.ceil(found.length / PAGE));
  const page = Math.min(Math.max(1, Number(state.page) || 1), pages);
  state.page = String(page);
  const rows = found.slice((page - 1) * PAGE, page * PAGE).map(({ instance, answers }) => {
    const button = make("button", "row");
    button.type = "button";
    button.dataset.id = instance.id;
    const chips = make("span", "chips");
    const beside = instance.answers.filter(({ sample }) => sample === answers[0].sample);
    chips.append(...beside.map((answer) => chip(answer, !answers.includes(answer))));
    const name = make("span", "name");
    name.append(named("span", "id", instance.id), " ", named("span", "domain", instance.domain));
    button.append(named("span", "words", instance.words), name, chips);
    button.addEventListener("click", () => open(instance.id, answers[0].setting, answers[0].sample));
    const item = make("li");
    item.append(button);
    return item;
  });
  part("list").replaceChildren(...rows);
  const last = Math.min(page * PAGE, found.length);
  const total = found.length.toLocaleString("en");
  const said = `${total} ${found.length === 1 ? "instance" : "instances"} found`;
  part("count").textContent = found.length ? said : "Nothing matches these filters.";
  part("where").textContent = found.length ? `${(page - 1) * PAGE + 1}–${last} of ${total}` : "";
  part("back").disabled = page <= 1;
  part("on").disabled = page >= pages;
  markOpen();
}

function markOpen() {
  for (const button of part("list").querySelectorAll("button")) {
    button.toggleAttribute("aria-current", button.dataset.id === state.open);
  }
}

function choices(label, names, chosen, act, draw) {
  const bar = make("div", "tabs");
  bar.setAttribute("role", "tablist");
  bar.setAttribute("aria-label", label);
  for (const name of names) {
    const tab = make("button", "");
    tab.type = "button";
    tab.setAttribute("role", "tab");
    tab.setAttribute("aria-selected", String(name === chosen));
    tab.setAttribute("aria-controls", "answer");
    tab.tabIndex = name === chosen ? 0 : -1;
    draw(tab, name);
    tab.addEventListener("click", () => act(name));
    tab.addEventListener("keydown", (event) => {
      const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      if (!step) return;
      event.preventDefault();
      act(names[(names.indexOf(name) + step + names.length) % names.length]);
      part("detail").querySelector(`[aria-label="${label}"] [aria-selected=true]`).focus();
    });
    bar.append(tab);
  }
  return bar;
}

function drawDetail() {
  const instance = data.instances.find(({ id }) => id === state.open);
  if (!instance) {
    part("detail").replaceChildren(make("p", "none", "Choose an instance to read it in all settings."));
    return;
  }
  const settings = [...new Set(instance.answers.map(({ setting }) => setting))];
  const setting = settings.includes(state.tab) ? state.tab : settings[0];
  const samples = instance.answers.filter((answer) => answer.setting === setting);
  const answer = samples.find(({ sample }) => String(sample) === state.sample) ?? samples[0];
  const heading = named("h3", "", instance.id);
  heading.append(" ", named("span", "domain", instance.domain));
  const drawSetting = (tab, name) => {
    const others = instance.answers.filter((other) => other.setting === name);
    const other = others.find(({ sample }) => sample === answer.sample) ?? others[0];
    tab.append(named("span", "", name), " ", chip(other, false));
  };
  const toSetting = (name) => open(instance.id, name, answer.sample);
  const bars = [choices("Settings of this instance", settings, setting, toSetting, drawSetting)];
  if (samples.length > 1) {
    const numbers = samples.map(({ sample }) => sample);
    const draw = (tab, number) => tab.append(`sample ${number + 1} `, chip(samples[numbers.indexOf(number)], false));
    const toSample = (number) => open(instance.id, setting, number);
    bars.push(choices("Samples of this answer", numbers, answer.sample, toSample, draw));
  }
  part("detail").replaceChildren(heading, ...bars, panel(instance, answer));
}

function panel(instance, answer) {
  const body = make("div", "panel");
  body.id = "answer";
  body.setAttribute("role", "tabpanel");
  const verdict = named("p", `verdict ${answer.grade}`, judged(answer));
  const said = answer.text === null ? make("p", "none", "n/a: no answer") : block(answer.text, "Answer");
  const sent = make("div", "sent");
  sent.append(make("p", "none", "Unpacking the prompt …"));
  const asked = prompts(instance.block).then((content) => messages(content, answer.request));
  asked.then((list) => {
    const shown = list.flatMap(({ role, content }) => [named("h5", "", role), block(content, `Prompt, ${role}`)]);
    const gone = make("p", "none", "n/a: the prompt is not in the run's folder any more");
    sent.replaceChildren(...(shown.length ? shown : [gone]));
  });
  const buttons = make("p", "copies");
  const { id, domain, reference } = instance;
  const row = async () => JSON.stringify({ id, domain, reference, ...answer, messages: await asked }, null, 2);
  buttons.append(
    copier("Copy prompt", async () => (await asked).map(({ role, content }) => `[${role}]\n${content}`).join("\n\n")),
    copier("Copy answer", () => answer.text ?? ""),
    copier("Copy as JSON", row)
  );
  const facts = make("dl", "values");
  const list = Object.entries(answer.values);
  list.push(["request", answer.request], ["model as returned", answer.version], ["bought by", answer.bought]);
  for (const [name, value] of list) {
    const pair = make("div");
    pair.append(named("dt", "", name), named("dd", "", short(value)));
    facts.append(pair);
  }
  const heading = (text) => make("h4", "", text);
  body.append(verdict, buttons, heading("Answer"), said, heading("Reference"), block(reference, "Reference"));
  body.append(heading("What was computed, and where it comes from"), facts, heading("Prompt as sent"), sent);
  return body;
}

function keep() {
  const said = new URLSearchParams(Object.entries(state).filter(([name, value]) => value !== START[name]));
  history.replaceState(null, "", `#${said}`);
}

function restore() {
  const said = new URLSearchParams(location.hash.slice(1));
  state = Object.fromEntries(Object.entries(START).map(([name, value]) => [name, said.get(name) ?? value]));
  for (const field of form.elements) {
    if (field.type === "checkbox") field.checked = state[field.name] !== "";
    else if (field.name) field.value = state[field.name];
  }
}

function open(id, tab, sample) {
  Object.assign(state, { open: id, tab, sample: String(sample) });
  keep();
  markOpen();
  drawDetail();
  if (matchMedia("(max-width: 60rem)").matches) part("detail").scrollIntoView();
}

async function show() {
  const packed = document.querySelectorAll("[id^=prompts-]").length;
  for (let number = 0; state.deep && number < packed; number += 1) {
    if (unpacked.has(number)) continue;
    part("count").textContent = `Unpacking the prompts: ${number} of ${packed} parts …`;
    await prompts(number);
  }
  select();
  drawList();
}

function turn(step) {
  state.page = String(Number(state.page) + step);
  keep();
  drawList();
  part("list").scrollTop = 0;
}

function offer(name, values, say = (value) => value) {
  for (const value of values) {
    const option = make("option", "", plain(say(value)));
    option.value = value;
    form.elements[name].append(option);
  }
}

async function start() {
  try {
    data = await unpack("rows");
  } catch (error) {
    const where = "they are in scores.parquet beside this file";
    part("count").textContent = `This browser cannot unpack the answers (${error}); ${where}.`;
    return;
  }
  offer("domain", [...new Set(data.instances.map(({ domain }) => domain))].sort());
  const settings = [...new Set(data.instances.flatMap(({ answers }) => answers.map(({ setting }) => setting)))];
  offer("setting", settings);
  const withFailed = { wrong: "wrong or failed", worst: "worst quarter or failed", failed: "failed" };
  offer("result", data.grades, (grade) => withFailed[grade] ?? GRADES[grade]);
  let waiting;
  form.addEventListener("input", () => {
    clearTimeout(waiting);
    waiting = setTimeout(() => {
      const given = Object.fromEntries(new FormData(form));
      Object.assign(state, FILTERS, given, { page: "1" });
      keep();
      show();
    }, 120);
  });
  form.addEventListener("submit", (event) => event.preventDefault());
  part("back").addEventListener("click", () => turn(-1));
  part("on").addEventListener("click", () => turn(1));
  addEventListener("hashchange", () => (restore(), show(), drawDetail()));
  restore();
  await show();
  drawDetail();
  const number = `${data.column ?? "no score"}${data.lower ? " (lower is better)" : ""}`;
  const measure = data.column === "correct" ? "✓ right, ✗ wrong" : number;
  const order = settings.join(", ");
  part("legend").textContent = plain(`Beside each instance, in the order ${order}: ${measure}, ∅ failed.`);
  for (const name of ["filters", "legend", "panes"]) part(name).hidden = false;
}

start();
