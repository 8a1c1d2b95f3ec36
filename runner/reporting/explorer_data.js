"use strict";
// What the explorer holds, unpacked as it is needed, and what its filters let through.

const FILTERS = { domain: "", setting: "", result: "", sort: "", find: "", deep: "" };
const START = { ...FILTERS, page: "1", open: "", tab: "", sample: "" };

let data;
let state = { ...START };
let found = [];
const blocks = new Map(); // number -> promise of {lines, prompts}
const unpacked = new Map(); // number -> {lines, prompts}
let seen = { sought: "", blocks: new Map() }; // what was last sought, and the lines of each block that hold it

async function unpack(id) {
  const packed = Uint8Array.from(atob(document.getElementById(id).textContent), (letter) => letter.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(stream).json();
}

function prompts(number) {
  if (!blocks.has(number)) {
    const opened = unpack(`prompts-${number}`).then((content) => (unpacked.set(number, content), content));
    blocks.set(number, opened);
  }
  return blocks.get(number);
}

function messages(content, request) {
  return (content.prompts[request] ?? []).map(([role, lines]) => ({
    role,
    content: lines.map((line) => content.lines[line]).join("\n"),
  }));
}

const holds = (text, sought) => text !== null && text.toLowerCase().includes(sought);

function mentions(instance, answer, sought) {
  const texts = [instance.id, instance.words, instance.reference, answer.text, answer.request];
  if (!sought || texts.some((text) => holds(text, sought))) return true;
  const lines = linesWith(sought, instance.block);
  if (!lines.size) return false;
  const asked = unpacked.get(instance.block).prompts[answer.request] ?? [];
  return asked.some(([, numbers]) => numbers.some((number) => lines.has(number)));
}

/** The lines of a block of prompts that hold what is sought; none while the block is packed. */
function linesWith(sought, number) {
  if (seen.sought !== sought) seen = { sought, blocks: new Map() };
  if (!seen.blocks.has(number) && unpacked.has(number)) {
    const lines = unpacked.get(number).lines.flatMap((line, place) => (holds(line, sought) ? [place] : []));
    seen.blocks.set(number, new Set(lines));
  }
  return seen.blocks.get(number) ?? new Set();
}

/** The answers of an instance that the filters let through. */
function matching(instance) {
  if (state.domain && instance.domain !== state.domain) return [];
  const sought = state.find.trim().toLowerCase();
  return instance.answers.filter(
    (answer) =>
      (!state.setting || answer.setting === state.setting) && passes(answer) && mentions(instance, answer, sought)
  );
}

/** An answer that could not be used is scored as wrong, so it is among the wrong ones too. */
function passes(answer) {
  const wanted = state.result;
  return !wanted || answer.grade === wanted || (answer.grade === "failed" && ["wrong", "worst"].includes(wanted));
}

/** How good the answers are together; below all others where one could not be used. */
function merit(answers) {
  if (answers.some(({ score, grade }) => score === null || grade === "failed")) return -Infinity;
  const sum = answers.reduce((total, { score }) => total + score, 0);
  return ((data.lower ? -1 : 1) * sum) / answers.length;
}

function select() {
  found = [];
  for (const instance of data.instances) {
    const answers = matching(instance);
    if (answers.length) found.push({ instance, answers, merit: merit(answers) });
  }
  const turn = { best: -1, worst: 1 }[state.sort];
  const compare = (one, two) => (one.merit === two.merit ? 0 : one.merit < two.merit ? -turn : turn);
  if (turn) found.sort(compare); // stable: equal ones stay in sample order
}
