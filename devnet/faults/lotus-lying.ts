import { lyingAnswers, type Fault, type Request, type Upstream } from './fault.ts'

/** Helpers of the false answers of a Filecoin node. */

/** Methods that answer with a tipset. */
export const TIPSETS = ['ChainGetTipSet', 'ChainGetTipSetByHeight', 'ChainGetTipSetAfterHeight']

export const named = (method: string): string => `Filecoin.${method}`

/** Changes the answers of these methods; `undefined` leaves an answer unchanged. */
export function lying(
  methods: readonly string[],
  change: (result: unknown, request: Request, upstream: Upstream) => unknown,
): Fault {
  return lyingAnswers(methods.map(named), change)
}

export function isFilled(list: unknown): list is unknown[] {
  return Array.isArray(list) && list.length > 0
}
