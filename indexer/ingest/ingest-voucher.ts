import { FILECOIN_BLOCKCHAIN } from '../../shared/config/networks.ts'
import type { Db } from '../../shared/db/connect.ts'
import { inOneState, inTransaction, type Trx } from '../../shared/db/transaction.ts'
import type { HandInWay } from '../../shared/events/filecoin-event.ts'
import type { HandedIn } from '../../shared/events/handed-in.ts'
import type { HeldEntry } from '../../shared/events/log-entry.ts'
import { channelSubject, naturalKey, networkIdOf, offchainLedger } from '../../shared/events/natural-key.ts'
import { networkLetter } from '../../shared/filecoin/address.ts'
import { findPosition } from '../event-log/chain-position.ts'
import { getChannelsAt } from '../event-log/channel-addresses.ts'
import { getHeldEntriesOf, getLastPosition, lockLog } from '../event-log/read-log.ts'
import { foldChannel } from '../../shared/channels/channel.evolve.ts'
import { putDeadLetter, queueOf, type Refusal } from './dead-letters.store.ts'
import { readHandedIn, type Judgement, type ReadHandedIn } from './handed-in.evolve.ts'
import { appendOffchain } from './ingest-step.ts'
import { payloadDigest } from './storable-json.ts'
import {
  getAwaited,
  putWaiting,
  removeWaiting,
  type Known,
  type Look,
  type Waiting,
} from './waiting-vouchers.store.ts'

/**
 * The fate of a voucher or statement:
 * - `accepted`: it is a fact now;
 * - `known`: it was a fact before;
 * - `waiting`: its channel is unknown or not ready; a change of the channel repeats the judgement;
 * - `refused`: it can never be a fact, for the reason given.
 */
export interface HandInOutcome {
  outcome: 'accepted' | 'known' | 'waiting' | 'refused'
  reason?: string
}

/** Most items that one signer can hand in for one channel. A loan has two vouchers and one statement. */
export const HANDED_IN_PER_CHANNEL = 256

/**
 * Judges and writes one voucher or statement for a Filecoin network (`filecoin:<id>`), in one transaction; repeating it
 * is harmless. The caller stores refusals. Waiting items that are evicted become dead letters here. Rejects only if the
 * database fails.
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
 * - `known`: exactly this was accepted before;
 * - `signed`: a party of the channel signed it, and it is a fact or can become one;
 * - `unverified`: the signature cannot be judged yet, because the channel is not known or not final;
 * - `refused`: it can never be a fact.
 */
export interface Examination {
  outcome: 'known' | 'signed' | 'unverified' | 'refused'
  /** Empty where nothing speaks against it. */
  reason: string
}

/** Judges like {@link ingestHandedIn} and writes nothing. Rejects only if the database fails. */
export async function examineHandedIn(db: Db, network: string, item: HandedIn): Promise<Examination> {
  const reading = readHandedIn(item, networkLetter(networkIdOf(network)))
  if (!reading.ok) return { outcome: 'refused', reason: reading.reason }
  const { read } = reading
  return inOneState(db, async (trx) => {
    const { finalizedEpoch } = await getKnown(trx, network)
    const entries = await getChannelEntries(trx, network, read.channelAddr)
    if (isProven(entries, read)) return { outcome: 'known', reason: '' }
    const judgement = judgeBy({ entries, finalizedEpoch }, read, 'queue')
    if (judgement.ok) return { outcome: 'signed', reason: '' }
    const { reason, mayChange, isSigned } = judgement
    if (!mayChange) return { outcome: 'refused', reason }
    return { outcome: isSigned ? 'signed' : 'unverified', reason }
  })
}

/** How far a Filecoin network is known now: the upper bound of an {@link ingestAwaited}. */
export async function getKnown(db: Db | Trx, network: string): Promise<Known> {
  // Finality is read first, so it is never ahead of the log's position.
  const finalizedEpoch = (await findPosition(db, network))?.finalized?.number ?? -1
  return { finalizedEpoch, position: await getLastPosition(db) }
}

/**
 * Judges one page of waiting items again: their channels gained log entries, or such entries became final.
 * `nextAfterId` is where the next page begins; null after the last. Items refused now become dead letters.
 */
export async function ingestAwaited(
  db: Db,
  network: string,
  look: Look,
): Promise<{ outcomes: HandInOutcome[]; nextAfterId: number | null }> {
  const outcomes: HandInOutcome[] = []
  const awaited = await getAwaited(db, network, look)
  for (const waiting of awaited) {
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
  const last = awaited.at(-1)
  return { outcomes, nextAfterId: awaited.length < look.limit ? null : (last?.id ?? null) }
}

async function ingestRead(
  trx: Trx,
  network: string,
  read: ReadHandedIn,
  way: HandInWay,
): Promise<HandInOutcome> {
  // Read before anything else: an entry that the log gains from here on justifies another look.
  const known = await getKnown(trx, network)
  const digest = payloadDigest(read.item)
  const before = await getChannelEntries(trx, network, read.channelAddr)
  if (isProven(before, read)) {
    await removeWaiting(trx, network, digest)
    return { outcome: 'known' }
  }
  const judgement = await judge(trx, network, read, way, { entries: before, ...known })
  if (judgement.ok || !judgement.mayChange) {
    await removeWaiting(trx, network, digest)
    if (!judgement.ok) return { outcome: 'refused', reason: judgement.reason }
    const identity = { network: offchainLedger(network), blockchain: FILECOIN_BLOCKCHAIN }
    const entries = await appendOffchain(trx, identity, [judgement.event])
    return { outcome: entries.length > 0 ? 'accepted' : 'known' }
  }
  const { channelAddr, item } = read
  const { reason, isSigned } = judgement
  const place = await putWaiting(trx, {
    network,
    digest,
    channelAddr,
    item,
    way,
    reason,
    lookedPosition: known.position,
    isSigned,
  })
  if (!place.isKept) {
    return { outcome: 'refused', reason: `${reason}; too many others wait for this channel already` }
  }
  for (const waiting of place.evicted) {
    await putDeadLetter(trx, refusalOf(waiting, `${waiting.reason}; too many others wait as well`))
  }
  return { outcome: 'waiting', reason }
}

/**
 * Judges against the channel in the log. Signatures are verified without a lock. Before an append, the channel is read
 * again under the log's lock in case it changed.
 */
async function judge(
  trx: Trx,
  network: string,
  read: ReadHandedIn,
  way: HandInWay,
  before: KnownChannel,
): Promise<Judgement> {
  const judgement = judgeBy(before, read, way)
  if (!judgement.ok) return judgement
  await lockLog(trx)
  const entries = await getChannelEntries(trx, network, read.channelAddr)
  return positionsOf(entries) === positionsOf(before.entries)
    ? judgement
    : judgeBy({ ...before, entries }, read, way)
}

/** Whether exactly this, signature included, was accepted before; it needs no second verification. */
function isProven(entries: HeldEntry[], { signedText }: ReadHandedIn): boolean {
  if (signedText === null) return false
  return entries.some(({ event }) => event.kind === 'SignedVoucher' && event.txHash === signedText)
}

interface KnownChannel {
  entries: HeldEntry[]
  finalizedEpoch: number
}

/**
 * A refusal is permanent only if the final part of the chain leads to it as well. An ID, party, creation, redemption or
 * collection may differ on the winning fork.
 */
function judgeBy({ entries, finalizedEpoch }: KnownChannel, read: ReadHandedIn, way: HandInWay): Judgement {
  const judgement = judgeChannel(entries, read, way)
  if (judgement.ok) return withinShare(entries, judgement)
  if (judgement.mayChange) return judgement
  const final = entries.filter(({ event }) => event.blockNumber <= finalizedEpoch)
  if (final.length === entries.length) return judgement
  const inFinal = judgeChannel(final, read, way)
  return { ...judgement, mayChange: inFinal.ok || inFinal.mayChange }
}

function judgeChannel(entries: HeldEntry[], read: ReadHandedIn, way: HandInWay): Judgement {
  const channel = foldChannel(entries)
  if (channel !== undefined) return read.judge(channel, way)
  return { ok: false, reason: `no channel ${read.channelAddr} is known`, mayChange: true, isSigned: false }
}

/** The limit is per signer, so that one party cannot take the other's share. */
function withinShare(entries: HeldEntry[], judgement: Extract<Judgement, { ok: true }>): Judgement {
  const key = naturalKey(judgement.event)
  const { signer } = judgement.event
  const theirs = entries.filter(({ event }) => 'signer' in event && event.signer === signer)
  if (theirs.length < HANDED_IN_PER_CHANNEL || theirs.some(({ event }) => naturalKey(event) === key))
    return judgement
  const reason = `${HANDED_IN_PER_CHANNEL} of its signer were handed in for this channel: no more are taken`
  return { ok: false, reason, mayChange: false, isSigned: true }
}

async function getChannelEntries(trx: Trx, network: string, channelAddr: string): Promise<HeldEntry[]> {
  const found = await getChannelsAt(trx, network, [channelAddr], Number.MAX_SAFE_INTEGER)
  const channel = found.at(-1)
  if (channel === undefined) return []
  return getHeldEntriesOf(trx, [channelSubject(network, channel.robust)], Number.MAX_SAFE_INTEGER)
}

function positionsOf(entries: HeldEntry[]): string {
  return entries.map(({ position }) => position).join()
}

function refusalOf({ network, item, way }: Waiting, reason: string): Refusal {
  const payload = { network: networkIdOf(network), ...item }
  return { queue: queueOf(way), jobId: null, network, payload, reason }
}
