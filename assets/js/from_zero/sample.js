// @ts-check
/** What the model wrote at a checkpoint; control characters are made visible, for an untrained model writes any byte. */
import { h, part } from "../lib/dom.js"

/**
 * Text with its control characters as their pictures (U+2400 block); line breaks stay.
 * @param {string} text
 */
export function printable(text) {
  return text.replace(/[\u0000-\u0009\u000b-\u001f]/g, (sign) => String.fromCharCode(0x2400 + sign.charCodeAt(0))).replace(/\u007f/g, "\u2421")
}

/**
 * @param {HTMLElement} rest
 * @param {import("../from_zero.js").Header} header
 * @param {import("../from_zero.js").Checkpoint} checkpoint
 */
export function renderSample(rest, header, checkpoint) {
  part(rest, "sample-title", () => h("h2")).textContent = header.labels.sample_title
  part(rest, "sample-note", () => h("p", { class: "nt-muted" })).textContent = header.labels.sample_note
  const text = part(rest, "sample", () => h("p", { class: "ntz-sample", dir: "auto" }))
  part(text, "start", () => h("span", { class: "ntz-start" })).textContent = printable(header.start)
  part(text, "made", () => h("span")).textContent = printable(checkpoint.sample)
}
