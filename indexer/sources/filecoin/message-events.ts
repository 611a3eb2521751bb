import type {
  FilecoinIdentity,
  FilecoinMessageEvent,
  SettleChannelEvent,
} from '../../../shared/events/filecoin-event.ts'
import type { NetworkLetter } from '../../../shared/filecoin/address.ts'
import type { RpcAnswer } from '../rpc/rpc-endpoint.ts'
import type { ChannelCodes } from './channel-codes.ts'
import { settlingAtOf } from './channel-state.ts'
import { decodeMessage, execCode } from './decode-message.ts'
import type { Identities, IdentityQuestion } from './identity.ts'
import type { LotusClient } from './lotus-client.ts'
import type { TipsetMessages } from './tipset-messages.ts'

export interface EventReader {
  client: LotusClient
  letter: NetworkLetter
  codes: ChannelCodes
  identities: Identities
}

/** An event, and the tipset at whose starting state its parties are resolved. */
interface Placed<E extends FilecoinMessageEvent = FilecoinMessageEvent> {
  event: E
  at: string
  isFinal: boolean
}

/**
 * Returns the complete events of these tipsets, in order. Tipsets up to `finalHeight` cannot be reorganized. Throws a
 * RetryableError when a node may know more.
 */
export async function messageEvents(
  reader: EventReader,
  tipsets: readonly TipsetMessages[],
  finalHeight: number,
): Promise<FilecoinMessageEvent[]> {
  const placed = await decodeAll(reader, tipsets, finalHeight)
  await askNodes(reader, placed)
  return placed.map(({ event }) => event)
}

async function decodeAll(
  reader: EventReader,
  tipsets: readonly TipsetMessages[],
  finalHeight: number,
): Promise<Placed[]> {
  const placed: Placed[] = []
  const { epochDurationS } = reader.client.facts()
  for (const { header, child, executed } of tipsets) {
    const codes = executed.map(execCode).filter((code) => code !== null)
    await reader.codes.learn(codes, header)
    for (const message of executed) {
      const event = decodeMessage(message, {
        header,
        letter: reader.letter,
        epochDurationS,
        isChannelCode: (code) => reader.codes.has(code),
      })
      if (event !== null) placed.push({ event, at: child.key, isFinal: header.number <= finalHeight })
    }
  }
  return placed
}

/**
 * Resolves the parties of creations and the senders of all messages but transfers, and reads when settling ends.
 * Senders of funds are skipped: most transfers concern no channel, and the sender means nothing for the loan.
 */
async function askNodes({ identities }: EventReader, placed: readonly Placed[]): Promise<void> {
  const questions: IdentityQuestion[] = []
  const put: ((identity: FilecoinIdentity) => void)[] = []
  const ask = ({ at, isFinal }: Placed, who: FilecoinIdentity): void => {
    questions.push({ address: who.asWritten, at, isFinal })
    put.push((identity) => Object.assign(who, identity))
  }
  for (const item of placed) {
    const { event } = item
    if (event.kind === 'FundChannel' || event.kind === 'UndecodableMessage') continue
    ask(item, event.sender)
    if (event.kind !== 'CreateChannel') continue
    ask(item, event.from)
    ask(item, event.recipient)
  }
  const settling = placed.filter(isSettling)
  const states = settling.map(({ event, at }) => ({ method: 'StateReadState', params: [event.to], at }))
  const answers = await identities.identify(questions, states)
  for (const [index, identity] of answers.identities.entries()) put[index]?.(identity)
  for (const [index, { event }] of settling.entries()) takeSettlingAt(event, answers.beside[index])
}

function isSettling(item: Placed): item is Placed<SettleChannelEvent> {
  return item.event.kind === 'SettleChannel'
}

/** The state has the exact epoch, because vouchers can postpone it. The rule applies where no node has the state. */
function takeSettlingAt(event: SettleChannelEvent, state: RpcAnswer | undefined): void {
  const epoch = settlingAtOf(state)
  if (epoch === null) return
  event.settlingAtEpoch = epoch
  event.settlingAtFrom = 'state'
}
