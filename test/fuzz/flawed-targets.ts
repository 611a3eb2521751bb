import { must, type FuzzTarget, type Outcome } from './fuzz-target.ts'
import { FuzzRandom } from './random.ts'

/** Targets with every flaw that the fuzzer must find, each at one case; they test the fuzzer. */

export const FLAWED_SEED = 'flawed'
export const FLAWED_CASE = 137

let held = new Uint8Array()

const FLAWS: Record<string, () => Outcome> = {
  throws: () => {
    throw new TypeError('no refusal of its own')
  },
  'breaks a promise': () => {
    must(held.length < 0, 'what must hold')
    return 'taken'
  },
  slow: () => {
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1_100)
    return 'taken'
  },
  hangs: () => {
    for (;;) if (held.length < 0) return 'taken'
  },
  'takes memory': () => {
    held = new Uint8Array(80 * 2 ** 20)
    return 'taken'
  },
  'exhausts the heap': () => {
    // Four million numbers at a time.
    for (const all: number[][] = []; ; all.push(new Array<number>(4_000_000).fill(1.5)))
      if (all.length < 0) return 'taken'
  },
}

export function findTarget(name: string): FuzzTarget {
  return {
    ...{ name, about: name, cases: 300, quickCases: 300 },
    open: () => ({
      make: (random) => {
        const input = random.uint32()
        const feed = (): Outcome => {
          if (input === flawedInput(name)) return FLAWS[name]?.() ?? 'refused'
          return input % 2 === 0 ? 'taken' : 'refused'
        }
        return { feed, show: () => `input ${input}` }
      },
    }),
  }
}

/** The input of the flawed case. */
export function flawedInput(name: string): number {
  const random = new FuzzRandom(`${FLAWED_SEED}/${name}`)
  random.beginCase(FLAWED_CASE)
  return random.uint32()
}
