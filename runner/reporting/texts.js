"use strict";
// Strangers' texts: shown through text nodes only, and what would hide in them is shown as its code.

const HIDDEN = /(?![\n\t])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/gu;
const JOINER = /[\u200c\u200d\ufe0e\ufe0f]/;
const JOINED = /[\p{Extended_Pictographic}\p{Emoji_Modifier}\p{L}\p{M}]/u;

/** A new element with this class and this text. */
function make(tag, name = "", text = null) {
  const element = document.createElement(tag);
  if (name) element.className = name;
  if (text !== null) element.append(text);
  return element;
}

/** Its number (⟨U+202E⟩), which every font can show. */
const code = (character) => `⟨U+${character.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}⟩`;

/** Whether scripts and emoji need this joiner after that character: one alone, behind a letter of their own. */
function belongs(character, before) {
  if (!JOINER.test(character)) return false;
  if (before <= "\x7f") return character === "\ufe0f" && /[0-9#*]/.test(before);
  if (before === "\ufe0f") return character === "\u200d";
  return JOINED.test(before) && !before.match(HIDDEN);
}

/** `text` as nodes in which every invisible character is a mark of its own. */
function visible(text) {
  const nodes = document.createDocumentFragment();
  let from = 0;
  for (const found of text.matchAll(HIDDEN)) {
    if (belongs(found[0], [...text.slice(Math.max(0, found.index - 2), found.index)].pop() ?? "")) continue;
    const mark = make("span", "code", code(found[0]));
    mark.title = "an invisible character of the text";
    nodes.append(text.slice(from, found.index), mark);
    from = found.index + found[0].length;
  }
  nodes.append(text.slice(from));
  return nodes;
}

/** The same as one string, where the page takes no nodes. */
const plain = (text) => visible(text).textContent;

/** A block of text as it was written, whatever its direction. */
function block(text, label) {
  const element = make("pre");
  element.dir = "auto";
  element.tabIndex = 0;
  element.setAttribute("role", "region");
  element.setAttribute("aria-label", plain(label));
  element.append(visible(text));
  return element;
}

/** A name inside a line, kept from turning its neighbours around. */
function named(tag, name, text) {
  const element = make(tag, name);
  const inner = make("bdi");
  inner.append(visible(text));
  element.append(inner);
  return element;
}

/** Put `text` on the clipboard, also where a page from a file may not use the clipboard's own door. */
async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const field = make("textarea", "unseen");
    field.value = text;
    document.body.append(field);
    field.select();
    const done = document.execCommand("copy");
    field.remove();
    return done;
  }
}

/** A button that copies what `give()` says and tells how it went. */
function copier(label, give) {
  const button = make("button", "", label);
  button.type = "button";
  button.addEventListener("click", async () => {
    button.textContent = (await copy(await give())) ? "Copied" : "Could not copy";
    setTimeout(() => (button.textContent = label), 1500);
  });
  return button;
}

addEventListener("beforeprint", () => {
  for (const details of document.querySelectorAll("details")) details.open = true;
});
