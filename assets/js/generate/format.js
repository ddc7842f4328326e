// @ts-check
/** Numbers and texts as a learner reads them. */
import { visible } from "../lib/dom.js"

const FINE = 0.9995

/**
 * A probability as a percentage with a sensible number of digits: `77.2%`, `3.1%`, `0.04%`, `< 0.01%`.
 * @param {number} share from 0 to 1
 */
export function percent(share) {
  if (share <= 0) return "0%"
  if (share < 0.0001) return "< 0.01%"
  if (share < 0.001) return `${(share * 100).toFixed(2)}%`
  if (share > FINE && share < 1) return "> 99.9%"
  return `${(share * 100).toFixed(share === 1 ? 0 : 1)}%`
}

/**
 * Bytes in decimal units with three digits, as the pages that are drawn in Python say them.
 * @param {number} count
 */
export function bytes(count) {
  const units = ["bytes", "KB", "MB", "GB"]
  let value = count
  let unit = 0
  while (value >= 999.5 && unit < units.length - 1) {
    value /= 1000
    unit += 1
  }
  return `${Number(value.toPrecision(3))} ${units[unit]}`
}

/**
 * A span of time.
 * @param {number} milliseconds
 */
export function duration(milliseconds) {
  if (milliseconds < 10) return `${milliseconds.toFixed(1)} ms`
  if (milliseconds < 1000) return `${Math.round(milliseconds)} ms`
  return `${(milliseconds / 1000).toFixed(2)} s`
}

/**
 * A whole number with thousands set apart.
 * @param {number} count
 */
export function whole(count) {
  return Math.round(count).toLocaleString("en-US")
}

/**
 * Put values into the `{places}` of a text. A place without a value stays as it is, so that a slip is seen.
 * @param {string} text
 * @param {Record<string, string|number>} values
 */
export function fill(text, values) {
  return text.replace(/\{(\w+)\}/g, (place, name) => (name in values ? String(values[name]) : place))
}

/**
 * Token text with every white-space and invisible character to be seen.
 * @param {string} text
 */
export function marked(text) {
  return visible(text)
    .replace(/[\u00a0\u2007\u202f]/g, "⍽")
    .replace(/[\u0000-\u001f\u007f\u00ad\u200b-\u200f\u2028-\u202e\u2060-\u2064\ufeff]/g, code)
}

/** @param {string} character */
function code(character) {
  return `U+${character.charCodeAt(0).toString(16).toUpperCase().padStart(4, "0")}`
}
