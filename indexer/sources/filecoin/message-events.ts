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

/** The needs of making events of messages. */
export interface EventReader {
  client: LotusClient
  letter: NetworkLetter
  codes: ChannelCodes
  identities: Identities
}

/** An event and the tipset whose beginning state tells who its parties are. */
interface Placed<E extends FilecoinMessageEvent = FilecoinMessageEvent> {
  event: E
  at: string
  isFinal: boolean
}

/**
 * The events of these tipsets, in their order, complete. Those up to `finalHeight` cannot be reorganized. Throws a
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
 * Who made, redeemed, settled or collected, and when settling ends. Who sent funds is not asked: most of these are no
 * channel's, and it says nothing of the loan.
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

/** The state says it exactly: vouchers can have put the time off. Where no node has it, the rule stands. */
function takeSettlingAt(event: SettleChannelEvent, state: RpcAnswer | undefined): void {
  const epoch = settlingAtOf(state)
  if (epoch === null) return
  event.settlingAtEpoch = epoch
  event.settlingAtFrom = 'state'
}
