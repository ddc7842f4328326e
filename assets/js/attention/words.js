// @ts-check
/** Numbers and texts of the Attention page as a learner reads them. */
import { visible } from "../lib/dom.js"

/**
 * Put values into the `{places}` of a text.
 * @param {string} text
 * @param {Record<string, string|number>} values
 */
export function fill(text, values) {
  return text.replace(/\{(\w+)\}/g, (place, name) => (name in values ? String(values[name]) : place))
}

/**
 * A number with a true minus sign and about four digits.
 * @param {number} value
 */
export function number(value) {
  if (!Number.isFinite(value)) return "–"
  const size = Math.abs(value)
  const digits = size >= 100 ? 1 : size >= 1 ? 2 : 3
  const text = size > 0 && size < 0.0005 ? value.toExponential(1) : value.toFixed(digits)
  return text.replace("-", "−")
}

/**
 * A share as a percentage; never a false 0% or 100%.
 * @param {number} share
 */
export function percent(share) {
  if (!Number.isFinite(share)) return "–"
  if (share === 0) return "0%"
  if (share < 0.0001) return "< 0.01%"
  if (share > 0.9995 && share < 1) return "> 99.9%"
  return `${(share * 100).toFixed(share < 0.01 ? 2 : 1)}%`
}

/**
 * A token to be read: white space made visible, cut to a length.
 * @param {string} text
 * @param {number} [most]
 */
export function token(text, most = 18) {
  const signs = [...visible(text)]
  return signs.length > most ? `${signs.slice(0, most - 1).join("")}…` : signs.join("") || "∅"
}
