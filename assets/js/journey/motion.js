// @ts-check
/** A step as a little film: the draw falls, the loop carries the token down, its column rises. Pure: no DOM. */

/** @typedef {{phase: "draw" | "carry" | "rise" | "end", share: number}} Moment */

const PHASES = {
  step: /** @type {const} */ ([["draw", 420], ["carry", 620], ["rise", 1100]]),
  prefill: /** @type {const} */ ([["rise", 1300]]),
}
const PACES = [2.8, 1, 0.22] // for the speeds slow, normal and fast of the stepper

/** @typedef {keyof typeof PHASES} Kind */

/**
 * @param {Kind} kind
 * @param {number} speed index of the stepper's speed
 * @returns {number} milliseconds
 */
export function lengthOf(kind, speed) {
  return PHASES[kind].reduce((sum, [, ms]) => sum + ms, 0) * PACES[speed]
}

/**
 * What happens `elapsed` milliseconds after the start.
 * @param {Kind} kind
 * @param {number} elapsed
 * @param {number} speed
 * @returns {Moment}
 */
export function momentAt(kind, elapsed, speed) {
  let left = elapsed
  for (const [phase, ms] of PHASES[kind]) {
    const length = ms * PACES[speed]
    if (left < length) return { phase, share: Math.max(0, left / length) }
    left -= length
  }
  return { phase: "end", share: 1 }
}

/** How a film goes on when the speed changes in its middle: at the same place of the film. */
export class Film {
  /**
   * @param {Kind} kind
   * @param {number} speed
   */
  constructor(kind, speed) {
    this.kind = kind
    this.speed = speed
    this.elapsed = 0
    this.held = false
    this.last = /** @type {number | null} */ (null)
  }

  /**
   * One frame on.
   * @param {number} now milliseconds of any clock
   * @param {number} speed
   * @returns {Moment}
   */
  frame(now, speed) {
    if (speed !== this.speed) {
      this.elapsed *= lengthOf(this.kind, speed) / lengthOf(this.kind, this.speed)
      this.speed = speed
    }
    if (this.last !== null && !this.held) this.elapsed += Math.max(0, now - this.last)
    this.last = now
    return this.moment()
  }

  /** @returns {Moment} */
  moment() {
    return momentAt(this.kind, this.elapsed, this.speed)
  }
}
