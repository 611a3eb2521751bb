import { partOf, sideOf } from '../../shared/channels/channel-parts.evolve.ts'
import { networkIdOf } from '../../shared/events/natural-key.ts'
import type { ChannelAt, LoanAt } from './loan-at.ts'

/** (pure) The parts of a lookup, as Postgres writes them for the present (queries/loan-json.ts). */

/** Bytes of JSON per field: contracts and vouchers may carry any bytes. A longer value is shown as unknown. */
const MOST_FIELD_BYTES = 64 * 1024

export type Part = Record<string, string | null>

/** The contract's half; `derivedState` is shown instead of the contract's state unless it is null. */
export function contractPart({ loan, createdAt, updatedAt }: LoanAt, derivedState: string | null): Part {
  const { part, loanId } = loan
  return shown(loanId, { ...part, state: derivedState ?? part.state }, { createdAt, updatedAt })
}

/** The half of a channel. */
export function channelPart({ loan }: LoanAt, { role, network, id, channel, ...times }: ChannelAt): Part {
  const { part } = partOf(role, channel, sideOf(loan), networkIdOf(network))
  return shown(String(id), part, times)
}

function shown(id: string, part: Part, { createdAt, updatedAt }: { createdAt: Date; updatedAt: Date }): Part {
  const fields = Object.entries(part).map(([name, value]) => [
    name,
    value !== null && Buffer.byteLength(JSON.stringify(value)) > MOST_FIELD_BYTES ? null : value,
  ])
  return {
    id,
    ...(Object.fromEntries(fields) as Part),
    createdAt: createdAt.toISOString(),
    updatedAt: updatedAt.toISOString(),
  }
}
