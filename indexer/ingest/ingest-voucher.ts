import { FILECOIN_BLOCKCHAIN } from '../../shared/config/networks.ts'
import type { Db } from '../../shared/db/connect.ts'
import { inTransaction, type Trx } from '../../shared/db/transaction.ts'
import { offchainLedger, type HandInWay } from '../../shared/events/filecoin-event.ts'
import { VOUCHER_QUEUE, type HandedIn } from '../../shared/events/handed-in.ts'
import type { LogEntry } from '../../shared/events/log-entry.ts'
import { channelSubject, naturalKey } from '../../shared/events/natural-key.ts'
import { networkLetter } from '../../shared/filecoin/address.ts'
import { getChannelsAt } from '../event-log/channel-addresses.ts'
import { getHeldEntriesOf, getLastPosition, lockLog } from '../event-log/read-log.ts'
import { channelFactsOf } from './channel-facts.evolve.ts'
import { putDeadLetter, type Refusal } from './dead-letters.store.ts'
import { readHandedIn, type Judgement, type ReadHandedIn } from './handed-in.evolve.ts'
import { appendOffchain } from './ingest-step.ts'
import { payloadDigest } from './storable-json.ts'
import { getAwaited, putWaiting, removeWaiting, type Waiting } from './waiting-vouchers.store.ts'

/**
 * `accepted`: it is a fact now. `known`: it was one before. `waiting`: its channel is not known, or not yet as it
 * must be; it is looked at again when that changes. `refused`: it can never be one, for the reason given.
 */
export interface HandInOutcome {
  outcome: 'accepted' | 'known' | 'waiting' | 'refused'
  reason?: string
}

/** What one channel can have that was handed in: a loan has two vouchers and one statement. */
export const HANDED_IN_PER_CHANNEL = 256

/**
 * Judges and writes one voucher or statement for a Filecoin network (`filecoin:<id>`), in one transaction; handing it
 * in again is no harm. Refusals are the caller's to keep; what waits and has to give way to others is kept as a dead
 * letter here. Rejects only when the database fails.
 */
export async function ingestHandedIn(
  db: Db,
  { network, item }: { network: string; item: HandedIn },
  way: HandInWay,
): Promise<HandInOutcome> {
  const reading = readHandedIn(item, networkLetter(networkIdOf(network)))
  if (!reading.ok) return { outcome: 'refused', reason: reading.reason }
  return inTransaction(db, (trx) => ingestRead(trx, network, reading.read, way))
}

/**
 * Looks again at what waits for channels of which the log learned something since, at most `limit` of them. What is
 * refused now becomes a dead letter.
 */
export async function ingestAwaited(db: Db, network: string, limit: number): Promise<HandInOutcome[]> {
  const outcomes: HandInOutcome[] = []
  for (const waiting of await getAwaited(db, network, limit)) {
    const reading = readHandedIn(waiting.item, networkLetter(networkIdOf(network)))
    outcomes.push(
      await inTransaction(db, async (trx) => {
        const result: HandInOutcome = reading.ok
          ? await ingestRead(trx, network, reading.read, waiting.way)
          : { outcome: 'refused', reason: reading.reason }
        if (result.outcome === 'refused') {
          await removeWaiting(trx, network, payloadDigest(waiting.item))
          await putDeadLetter(trx, refusalOf(waiting, result.reason ?? ''))
        }
        return result
      }),
    )
  }
  return outcomes
}

async function ingestRead(
  trx: Trx,
  network: string,
  read: ReadHandedIn,
  way: HandInWay,
): Promise<HandInOutcome> {
  // Taken before anything is looked at: what the log learns from here on makes it worth another look.
  const lookedPosition = await getLastPosition(trx)
  const digest = payloadDigest(read.item)
  const before = await getChannelEntries(trx, network, read.channelAddr)
  if (isProven(before, read)) {
    await removeWaiting(trx, network, digest)
    return { outcome: 'known' }
  }
  const judgement = await judge(trx, network, read, way, before)
  if (judgement.ok || !judgement.mayChange) {
    await removeWaiting(trx, network, digest)
    if (!judgement.ok) return { outcome: 'refused', reason: judgement.reason }
    const entries = await appendOffchain(trx, offchainIdentity(network), [judgement.event])
    return { outcome: entries.length > 0 ? 'accepted' : 'known' }
  }
  const { channelAddr, item } = read
  const { reason } = judgement
  const evicted = await putWaiting(trx, { network, digest, channelAddr, item, way, reason, lookedPosition })
  for (const waiting of evicted) {
    await putDeadLetter(trx, refusalOf(waiting, `${waiting.reason}; too many others wait as well`))
  }
  return { outcome: 'waiting', reason }
}

/**
 * Against the channel as the log holds it. Signatures are verified while others may write; whoever is about to append
 * looks once more, with the log locked, whether the channel is still the same.
 */
async function judge(
  trx: Trx,
  network: string,
  read: ReadHandedIn,
  way: HandInWay,
  before: LogEntry[],
): Promise<Judgement> {
  const judgement = judgeBy(before, read, way)
  if (!judgement.ok) return judgement
  await lockLog(trx)
  const now = await getChannelEntries(trx, network, read.channelAddr)
  return positionsOf(now) === positionsOf(before) ? judgement : judgeBy(now, read, way)
}

/** Word for word what was accepted before, signature included: it need not be verified again. */
function isProven(entries: LogEntry[], { signedText }: ReadHandedIn): boolean {
  if (signedText === null) return false
  return entries.some(({ event }) => event?.kind === 'SignedVoucher' && event.txHash === signedText)
}

function judgeBy(entries: LogEntry[], read: ReadHandedIn, way: HandInWay): Judgement {
  const events = entries.flatMap(({ event }) => (event === null ? [] : [event]))
  const channel = channelFactsOf(events)
  if (channel === undefined)
    return { ok: false, reason: `no channel ${read.channelAddr} is known`, mayChange: true }
  const judgement = read.judge(channel, way)
  if (!judgement.ok) return judgement
  const handedIn = events.filter(({ kind }) => kind === 'SignedVoucher' || kind === 'SignedStatement')
  const key = naturalKey(judgement.event)
  if (handedIn.length < HANDED_IN_PER_CHANNEL || handedIn.some((event) => naturalKey(event) === key))
    return judgement
  return {
    ok: false,
    reason: `${HANDED_IN_PER_CHANNEL} were handed in for this channel: no more are taken`,
    mayChange: false,
  }
}

async function getChannelEntries(trx: Trx, network: string, channelAddr: string): Promise<LogEntry[]> {
  const found = await getChannelsAt(trx, network, [channelAddr], Number.MAX_SAFE_INTEGER)
  const channel = found.at(-1)
  if (channel === undefined) return []
  return getHeldEntriesOf(trx, [channelSubject(network, channel.robust)], Number.MAX_SAFE_INTEGER)
}

function positionsOf(entries: LogEntry[]): string {
  return entries.map(({ position }) => position).join()
}

function refusalOf({ network, item, way }: Waiting, reason: string): Refusal {
  const queue = way === 'queue' ? VOUCHER_QUEUE : way
  return { queue, jobId: null, network, payload: { network: networkIdOf(network), ...item }, reason }
}

function offchainIdentity(network: string): { network: string; blockchain: string } {
  return { network: offchainLedger(network), blockchain: FILECOIN_BLOCKCHAIN }
}

/** `testnet` of `filecoin:testnet`. */
function networkIdOf(network: string): string {
  return network.slice(network.indexOf(':') + 1)
}
