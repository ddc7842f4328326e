// @ts-check
/** Which theme is on, and its colours for a canvas. */

/**
 * Mark the element as light or dark, by the page's own background, so that tokens.css takes the right set.
 * @param {HTMLElement} element
 * @param {any} host the shadow root or element that Streamlit gave; its `--st-*` variables say the theme
 */
export function applyTheme(element, host) {
  const source = host.host ?? host
  const background = getComputedStyle(source).getPropertyValue("--st-background-color").trim()
  element.dataset.ntTheme = background && luminance(background) < 0.4 ? "dark" : "light"
}

/**
 * The colours of the theme that is on, as strings for `fillStyle`: `colours(element).query`, `.ramp[2]`, …
 * @param {HTMLElement} element
 */
export function colours(element) {
  const style = getComputedStyle(element)
  const read = (/** @type {string} */ name) => style.getPropertyValue(`--nt-${name}`).trim()
  const steps = (/** @type {string} */ name) => [0, 1, 2, 3, 4].map((i) => read(`${name}-${i}`))
  return {
    query: read("query"), key: read("key"), value: read("value"), attention: read("attention"),
    ffn: read("ffn"), expert: read("expert"), residual: read("residual"), logits: read("logits"),
    accent: read("accent"), laser: read("laser"), laserWidth: parseFloat(read("laser-width")) || 2, ink: read("ink"), muted: read("muted"), paper: read("paper"),
    surface: read("surface"), line: read("line"), ramp: steps("ramp"), diverging: steps("diverging"),
  }
}

/**
 * 256 steps between the given colours as `[r, g, b]` triples: look-up tables for ImageData.
 * @param {string[]} stops `#rrggbb` colours, from the smallest value to the largest
 * @returns {[number, number, number][]}
 */
export function lookup(stops) {
  const points = stops.map(parse)
  return Array.from({ length: 256 }, (_, i) => {
    const at = (i / 255) * (points.length - 1)
    const low = Math.min(Math.floor(at), points.length - 2)
    const share = at - low
    const mix = (/** @type {number} */ c) => Math.round(points[low][c] + share * (points[low + 1][c] - points[low][c]))
    return /** @type {[number, number, number]} */ ([mix(0), mix(1), mix(2)])
  })
}

/**
 * `#rgb`, `#rrggbb` or `rgb(…)` as numbers from 0 to 255.
 * @param {string} colour
 * @returns {[number, number, number]}
 */
export function parse(colour) {
  if (colour.startsWith("#")) {
    const hex = colour.length === 4 ? [...colour.slice(1)].map((c) => c + c).join("") : colour.slice(1, 7)
    return /** @type {any} */ ([0, 2, 4].map((i) => parseInt(hex.slice(i, i + 2), 16)))
  }
  return /** @type {any} */ ((colour.match(/[\d.]+/g) ?? ["0", "0", "0"]).slice(0, 3).map(Number))
}

/**
 * Relative luminance from 0 (black) to 1 (white).
 * @param {string} colour
 */
export function luminance(colour) {
  const [r, g, b] = parse(colour).map((c) => {
    const share = c / 255
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4
  })
  return 0.2126 * r + 0.7152 * g + 0.0722 * b
}
