// @ts-check
/** Bytes as something to read: text where they are whole characters, hexadecimal badges where they are not. */
import { h, visible } from "../lib/dom.js"

const strict = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true })
const JOINERS = /[\u200d\ufe0f]/g // inside an emoji they belong to what is seen
const UNSEEN = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\u00a0\u2000-\u200a\u202f\u3000]/u

/**
 * `{text}` for valid UTF-8 that can be seen, else `{badges}`: two hexadecimal digits a byte.
 * @param {number[]} bytes
 * @returns {{text: string} | {badges: string[]}}
 */
export function readable(bytes) {
  try {
    const text = visible(strict.decode(Uint8Array.from(bytes)))
    const alone = text.replace(JOINERS, "")
    if (alone && !UNSEEN.test(alone)) return { text }
  } catch {
    // not whole characters: badges
  }
  return { badges: hex(bytes) }
}

/**
 * @param {number[]} bytes
 * @returns {string[]}
 */
export function hex(bytes) {
  return bytes.map((byte) => byte.toString(16).toUpperCase().padStart(2, "0"))
}

/**
 * A symbol, token or word as one inline element.
 * @param {number[]} bytes
 * @returns {HTMLElement}
 */
export function shown(bytes) {
  const form = readable(bytes)
  if ("text" in form) return h("span", { class: "nt-mono", dir: "auto" }, form.text)
  return h("span", { class: "badges" }, ...form.badges.map((pair) => h("span", { class: "badge nt-mono" }, pair)))
}

/**
 * A text with its places filled: `fill("{n} of {m}", {n: 1, m: 2})`.
 * @param {string} template
 * @param {Record<string, string|number>} values
 */
export function fill(template, values) {
  return template.replace(/\{(\w+)\}/g, (_, name) => String(values[name] ?? ""))
}
