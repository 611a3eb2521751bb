import * as z from 'zod'
import { isDay, storableTime } from './common.ts'

/** A moment of the past, as a client names it. */
export type AsOf =
  | { type: 'record'; id: string }
  | { type: 'time'; time: string }
  | { type: 'block'; network: string; block: string }

const RECORD = /^[1-9]\d{0,17}$/
/** With a zone: a time without one means something else in each place. */
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?(?:Z|[+-]\d\d:\d\d)$/
const BLOCK = /^([\w:.-]{1,100})@(\d{1,15})$/
const MISTAKE =
  'asOf must be the id of a record, an ISO time such as 2026-11-21T17:47:31.999Z, or <network>@<block>'

/** An unescaped `+` of a time's zone arrives as a space. */
export const asOf = z
  .string()
  .meta({
    description:
      'Answers as of a moment: just after a record (its id), at a time, or at a block of a network (`<network>@<block>`)',
    examples: ['1000000'],
  })
  .transform((text, context): AsOf => {
    if (RECORD.test(text)) return { type: 'record', id: text }
    const [, network, block] = BLOCK.exec(text) ?? []
    if (network !== undefined && block !== undefined) return { type: 'block', network, block }
    const time = text.replace(' ', '+')
    // `Date.parse` takes 30 February for 2 March.
    const at = TIME.test(time) && isDay(time.slice(0, 10)) ? Date.parse(time) : Number.NaN
    if (!Number.isNaN(at)) return { type: 'time', time: storableTime(at) }
    context.addIssue({ code: 'custom', message: MISTAKE })
    return z.NEVER
  })
  .optional()
