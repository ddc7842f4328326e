// @ts-check
/** The same grid under each lens: what a cell's shade and words are. Pure: no DOM. */
import { bytes, duration, fill, marked, percent } from "../generate/format.js"
import { number } from "../lib/numbers.js"

/** @typedef {{name: string, colour: "ramp" | "attention" | "expert" | "cache",
 *   shade: (layer: number, position: number) => number | null,
 *   label: (layer: number, position: number) => string,
 *   said: (layer: number, position: number) => string,
 *   unknown: boolean}} Lens `shade`: 0 to 255, null where there is nothing to show; `label`: the few words in a cell;
 *   `said`: the cell in a sentence */

/**
 * @param {any} header
 * @param {any} arrays
 * @returns {Lens}
 */
export function lensOf(header, arrays) {
  const name = header.journey.lens.name
  const make = { size, say, attention, cache, time, expert }[/** @type {"size"} */ (name)] ?? size
  return make(header, arrays)
}

const NONE = () => ""

/** @type {(header: any, arrays: any) => Lens} */
function size({ labels }, { shades, sizes }) {
  const count = shades.shape[1]
  return {
    name: "size", colour: "ramp", unknown: false, label: NONE,
    shade: (layer, position) => shades[layer * count + position],
    said: (layer, position) => fill(labels.said_size, { size: number(sizes[layer * count + position]) }),
  }
}

/** @type {(header: any, arrays: any) => Lens} */
function say({ labels, journey }, { say_ids: ids, say_chances: chances }) {
  const { rows, positions, names } = journey.lens
  const texts = new Map(names)
  const rowOf = new Map(rows.map((/** @type {number} */ row, /** @type {number} */ i) => [row - 1, i]))
  const columnOf = new Map(positions.map((/** @type {number} */ at, /** @type {number} */ i) => [at, i]))
  const at = (/** @type {number} */ layer, /** @type {number} */ position) => {
    const [row, column] = [rowOf.get(layer), columnOf.get(position)]
    const index = row === undefined || column === undefined ? -1 : row * positions.length + column
    return index >= 0 && ids[index] >= 0 ? index : null
  }
  const text = (/** @type {number} */ index) => marked(String(texts.get(ids[index]) ?? ""))
  return {
    name: "say", colour: "ramp", unknown: true,
    shade: (layer, position) => {
      const index = at(layer, position)
      return index === null ? null : Math.round(255 * Math.sqrt(chances[index]))
    },
    label: (layer, position) => {
      const index = at(layer, position)
      return index === null ? "" : text(index)
    },
    said: (layer, position) => {
      const index = at(layer, position)
      if (index === null) return labels.said_unknown
      return fill(labels.said_say, { token: `“${text(index)}”`, chance: percent(chances[index]) })
    },
  }
}

/** @type {(header: any, arrays: any) => Lens} */
function attention({ labels, journey }, { weights }) {
  const here = (/** @type {number} */ layer, /** @type {number} */ position) =>
    layer === journey.layer && position <= journey.position
  return {
    name: "attention", colour: "attention", unknown: false, label: NONE,
    shade: (layer, position) => (here(layer, position) ? Math.round(255 * Math.sqrt(weights[position])) : null),
    said: (layer, position) =>
      here(layer, position)
        ? fill(labels.said_attention, { head: journey.head, weight: percent(weights[position]) })
        : labels.said_attention_none,
  }
}

/** @type {(header: any, arrays: any) => Lens} */
function cache({ labels, journey }) {
  const newest = journey.times.at(-1)[0]
  const kept = (/** @type {number} */ layer, /** @type {number} */ position) => position >= journey.first_kept[layer]
  return {
    name: "cache", colour: "cache", unknown: false, label: NONE,
    shade: (layer, position) => (kept(layer, position) ? (position >= newest ? 255 : 90) : null),
    said: (layer, position) => {
      if (!kept(layer, position)) return labels.said_cache_dropped
      const each = bytes(journey.bytes_per_token / journey.first_kept.length)
      return fill(position >= newest ? labels.said_cache_new : labels.said_cache_old, { bytes: each })
    },
  }
}

/** @type {(header: any, arrays: any) => Lens} */
function time({ labels, journey }) {
  const largest = Math.max(...journey.times.flatMap((/** @type {any} */ pass) => pass[2]), 1e-6)
  const of = (/** @type {number} */ position) =>
    journey.times.find((/** @type {any} */ pass) => position >= pass[0] && position < pass[1])
  return {
    name: "time", colour: "ramp", unknown: false, label: NONE,
    shade: (layer, position) => Math.round((255 * of(position)[2][layer]) / largest),
    said: (layer, position) => {
      const pass = of(position)
      const count = pass[1] - pass[0]
      const values = { time: duration(pass[2][layer]), count }
      return fill(count === 1 ? labels.said_time_one : labels.said_time, values)
    },
  }
}

/** @type {(header: any, arrays: any) => Lens} */
function expert({ labels, journey }, { experts, expert_weights: weights }) {
  const count = experts.shape[1]
  const at = (/** @type {number} */ layer, /** @type {number} */ position) => {
    const row = journey.lens.layers.indexOf(layer)
    return row < 0 ? null : row * count + position
  }
  return {
    name: "expert", colour: "expert", unknown: false,
    shade: (layer, position) => {
      const index = at(layer, position)
      return index === null ? null : Math.round(255 * Math.min(1, weights[index]))
    },
    label: (layer, position) => {
      const index = at(layer, position)
      return index === null ? "" : String(experts[index])
    },
    said: (layer, position) => {
      const index = at(layer, position)
      if (index === null) return labels.said_expert_none
      return fill(labels.said_expert, { expert: experts[index], weight: percent(weights[index]) })
    },
  }
}
