// @ts-check
/** The sampling sliders. While one is dragged only the browser works; the server hears of it on release. */
import { h, part, set } from "../lib/dom.js"
import { put } from "./bars.js"

/** @typedef {import("./view-model.js").Params} Params */
/** @typedef {{name: keyof Params, off: number, toPosition: (v: number) => number, toValue: (p: number) => number,
 *   steps: number, digits: number}} Setting */

const K_TOP = 15

/** Positions of a slider are whole numbers; these say what value each stands for. @type {Setting[]} */
export const SETTINGS = [
  { name: "temperature", off: 1, steps: 60, digits: 2, ...linear(0.05) },
  {
    name: "top_k", off: 0, steps: K_TOP + 1, digits: 0,
    toValue: (p) => (p === 0 ? 0 : p <= 10 ? p : [20, 40, 100, 200, 500, 1000][p - 11]),
    toPosition: (v) => (v <= 0 ? 0 : v <= 10 ? v : 11 + [20, 40, 100, 200, 500].filter((k) => v > k).length),
  },
  { name: "top_p", off: 1, steps: 100, digits: 2, ...linear(0.01) },
  { name: "min_p", off: 0, steps: 50, digits: 2, ...linear(0.01) },
  {
    name: "repetition_penalty", off: 1, steps: 20, digits: 2,
    toValue: (p) => Number((1 + p * 0.05).toFixed(2)), toPosition: (v) => Math.round((v - 1) / 0.05),
  },
]

export const USUAL = { temperature: 0.8, top_k: 0, top_p: 0.95, min_p: 0, repetition_penalty: 1, seed: 0 }
const MAX_SEED = Number.MAX_SAFE_INTEGER

/**
 * @param {number} unit
 */
function linear(unit) {
  return {
    toValue: (/** @type {number} */ p) => Number((p * unit).toFixed(2)),
    toPosition: (/** @type {number} */ v) => Math.round(v / unit),
  }
}

/**
 * @param {HTMLElement} root
 * @param {Record<string, string>} labels
 * @param {Params} params
 * @param {{change: (params: Params) => void, release: () => void}} on
 */
export function renderSettings(root, labels, params, on) {
  part(root, "settings-title", () => h("h2", {}, labels.settings))
  for (const setting of SETTINGS) slider(root, labels, setting, params, on)
  seed(root, labels, params, on)
  part(root, "settings-note", () => h("p", { class: "nt-muted" }, labels.order_note))
  const reset = part(root, "defaults", () => h("button", { type: "button", class: "nt-chip" }, labels.defaults))
  set(reset, {
    hidden: Object.entries(USUAL).every(([name, value]) => params[/** @type {keyof Params} */ (name)] === value),
    onclick: () => {
      on.change({ ...USUAL })
      on.release()
    },
  })
}

/**
 * @param {HTMLElement} root
 * @param {Record<string, string>} labels
 * @param {Setting} setting
 * @param {Params} params
 * @param {{change: (params: Params) => void, release: () => void}} on
 */
function slider(root, labels, setting, params, on) {
  const { name } = setting
  const field = part(root, `setting-${name}`, () =>
    h("label", { class: "ntg-setting" },
      h("span", { class: "ntg-setting-name" }, labels[name]),
      h("output", {}),
      h("input", { type: "range", min: 0, max: setting.steps, step: 1, name }),
      h("span", { class: "ntg-hint nt-muted" }, labels[`${name}_hint`])))
  const [, output, input] = /** @type {any[]} */ ([...field.children])
  const value = params[name]
  const position = String(Math.max(0, Math.min(setting.steps, setting.toPosition(value))))
  if (input.value !== position) input.value = position
  const shown = said(labels, setting, value)
  put(output, shown)
  input.setAttribute("aria-valuetext", shown)
  input.style.setProperty("--filled", `${(Number(position) / setting.steps) * 100}%`)
  input.oninput = () => on.change({ ...params, [name]: setting.toValue(Number(input.value)) })
  input.onchange = () => on.release()
}

/**
 * @param {Record<string, string>} labels
 * @param {Setting} setting
 * @param {number} value
 */
function said(labels, setting, value) {
  if (setting.name === "temperature" && value < 1e-6) return labels.greedy
  if (setting.name !== "temperature" && value === setting.off) return labels.off
  return Number.isInteger(value) && setting.digits === 0 ? String(value) : value.toFixed(setting.digits)
}

/**
 * @param {HTMLElement} root
 * @param {Record<string, string>} labels
 * @param {Params} params
 * @param {{change: (params: Params) => void, release: () => void}} on
 */
function seed(root, labels, params, on) {
  const field = part(root, "setting-seed", () =>
    h("label", { class: "ntg-setting" },
      h("span", { class: "ntg-setting-name" }, labels.seed),
      h("input", { type: "number", min: 0, max: MAX_SEED, step: 1, name: "seed", inputmode: "numeric" }),
      h("span", { class: "ntg-hint nt-muted" }, labels.seed_hint)))
  const input = /** @type {any} */ (field.children[1])
  const active = /** @type {any} */ (root.getRootNode()).activeElement === input
  if (!active && input.value !== String(params.seed)) input.value = String(params.seed)
  input.oninput = () => {
    const value = Number(input.value)
    if (input.value !== "" && Number.isSafeInteger(value) && value >= 0) on.change({ ...params, seed: value })
  }
  input.onchange = () => {
    input.value = String(params.seed)
    on.release()
  }
}
