import type { ChainEvent } from '../../shared/events/chain-event.ts'
import type {
  BlockRef,
  BlocksStep,
  ChainStep,
  FinalizedStep,
  ReorgStep,
} from '../../shared/events/chain-step.ts'
import type { HandedInEvent } from '../../shared/events/filecoin-event.ts'
import type { NewEntry, WholeEntry } from '../../shared/events/log-entry.ts'
import { naturalKey } from '../../shared/events/natural-key.ts'
import type { Db } from '../../shared/db/connect.ts'
import { inTransaction, type Trx } from '../../shared/db/transaction.ts'
import { takePositions, writeEntries } from '../event-log/append.ts'
import { getChannelsAt } from '../event-log/channel-addresses.ts'
import {
  findHeaderHash,
  forgetBlockPositions,
  forgetProvenState,
  forgetHeadersBelow,
  lockPosition,
  moveFinalized,
  movePosition,
  noteWritten,
  putBlockPosition,
  putHeaders,
  type ChainPosition,
} from '../event-log/chain-position.ts'
import { withProofs } from '../event-log/evidence.evolve.ts'
import { forgetEvidenceAbove, putEvidence } from '../event-log/range-evidence.store.ts'
import { planEntries, type Cause } from '../event-log/plan-entries.evolve.ts'
import { getLastEntries, lockLog } from '../event-log/read-log.ts'
import { LIVE_SCHEMA } from '../projections/projection.ts'
import { concerningChannels, receiversOf, type KnownChannel } from './channel-messages.evolve.ts'
import {
  continuityOfBlocks,
  continuityOfFinalized,
  continuityOfReorg,
  type Continuity,
} from './continuity.evolve.ts'
import { project } from './project.ts'

export interface NetworkIdentity {
  /** The network's key, as in the tables. */
  network: string
  blockchain: string
}

/** `void`: another writer has replaced this one. `outdated`: the step's reader read other contracts. */
export type Outcome = Exclude<Continuity, 'apply'> | 'applied' | 'void' | 'outdated'

/**
 * Writes one step: log, read model and position move together in this one transaction, or not at all. Only the position in
 * Postgres decides whether a step is applied, and not how often or in what order it was delivered. A dead reader's step
 * continues the position or is dropped. `place` is set if a reader waits for the step.
 */
export function ingestStep(
  db: Db,
  identity: NetworkIdentity,
  writerEpoch: number,
  step: ChainStep,
  place: ChainPosition['written'] | null = null,
): Promise<Outcome> {
  return inTransaction(db, async (trx) => {
    const position = await lockPosition(trx, identity.network)
    if (position === undefined || position.writerEpoch !== writerEpoch) return 'void'
    if (place !== null && place.readerEpoch < position.stepsFromEpoch) return 'outdated'
    const outcome = await ingestNext(trx, identity, position, step)
    if (place !== null && (outcome === 'applied' || outcome === 'seen') && isNext(place, position.written))
      await noteWritten(trx, identity.network, place)
    return outcome
  })
}

/** Steps are noted without gaps, because a reader takes all up to the last noted one for written. */
function isNext(place: ChainPosition['written'], last: ChainPosition['written']): boolean {
  if (place.readerEpoch === last.readerEpoch) return place.sequence === last.sequence + 1
  return place.readerEpoch > last.readerEpoch && place.sequence === 1
}

function ingestNext(
  trx: Trx,
  identity: NetworkIdentity,
  position: ChainPosition,
  step: ChainStep,
): Promise<Outcome> {
  switch (step.type) {
    case 'blocks':
      return ingestBlocks(trx, identity, position, step)
    case 'reorg':
      return ingestReorg(trx, identity, position, step)
    case 'finalized':
      return ingestFinalized(trx, identity, position, step)
  }
}

async function ingestBlocks(
  trx: Trx,
  identity: NetworkIdentity,
  position: ChainPosition,
  step: BlocksStep,
): Promise<Outcome> {
  const endHash = await findPassedHash(trx, identity.network, position.block, step.to.number)
  const continuity = continuityOfBlocks(position, endHash, step)
  if (continuity !== 'apply') return continuity
  await replaceEvents(
    trx,
    identity,
    { from: step.from, to: step.to.number },
    step.events,
    null,
    step.evidence,
  )
  await putHeaders(trx, identity.network, step.from - 1, step.headers)
  await arrive(trx, identity.network, step.from, step)
  return 'applied'
}

/** The hash of our block `number`; undefined if the position has not reached it, or the hash is not stored. */
async function findPassedHash(
  trx: Trx,
  network: string,
  position: BlockRef | null,
  number: number,
): Promise<string | undefined> {
  if (position === null || number > position.number) return undefined
  return number === position.number ? position.hash : findHeaderHash(trx, network, number)
}

async function ingestReorg(
  trx: Trx,
  identity: NetworkIdentity,
  position: ChainPosition,
  step: ReorgStep,
): Promise<Outcome> {
  const { ancestor, replaces } = step
  const ancestorHash =
    position.finalized?.number === ancestor.number
      ? position.finalized.hash
      : await findHeaderHash(trx, identity.network, ancestor.number)
  const continuity = continuityOfReorg(position, ancestorHash, step)
  if (continuity !== 'apply') return continuity
  const to = Math.max(replaces.number, step.to.number)
  await replaceEvents(trx, identity, { from: ancestor.number + 1, to }, step.events, 'reorg', step.evidence)
  await putHeaders(trx, identity.network, ancestor.number, step.headers)
  await forgetBlockPositions(trx, identity.network, ancestor.number + 1)
  await forgetProvenState(trx, identity.network, ancestor.number)
  await forgetEvidenceAbove(trx, identity.network, step.to.number)
  await arrive(trx, identity.network, ancestor.number + 1, step)
  return 'applied'
}

async function ingestFinalized(
  trx: Trx,
  { network }: NetworkIdentity,
  position: ChainPosition,
  step: FinalizedStep,
): Promise<Outcome> {
  const ourHash = await findHeaderHash(trx, network, step.block.number)
  const continuity = continuityOfFinalized(position, ourHash, step.block)
  if (continuity !== 'apply') return continuity
  await moveFinalized(trx, network, step.block)
  await forgetHeadersBelow(trx, network, step.block.number)
  return 'applied'
}

/**
 * Makes `events` the ones that hold in the blocks `from` … `to`, in log and read model. Drops messages to receivers that are not
 * known as channels.
 */
export async function replaceEvents(
  trx: Trx,
  identity: NetworkIdentity,
  blocks: { from: number; to: number },
  read: BlocksStep['events'],
  cause: Cause | null,
  evidence: BlocksStep['evidence'] = [],
): Promise<{ appended: number; replaced: number; retracted: number }> {
  const events = await concerning(trx, identity.network, blocks.from, read)
  const last = await getLastEntries(trx, identity.network, { ...blocks, events })
  const planned = planEntries(identity, last, events, cause)
  const entries = await append(trx, withProofs(planned, evidence))
  const count = (op: string): number => entries.filter((entry) => entry.op === op).length
  return { appended: count('append'), replaced: count('replace'), retracted: count('retract') }
}

/** Drops the messages to receivers that are no channels, neither in the log nor among `made`. */
export async function concerning(
  db: Db | Trx,
  network: string,
  from: number,
  events: ChainEvent[],
  made: KnownChannel[] = [],
): Promise<ChainEvent[]> {
  const known = await getChannelsAt(db, network, receiversOf(events), from)
  return concerningChannels(events, [...known, ...made])
}

/**
 * Appends what was signed off-chain and is not known yet: log and read model. `identity.network` is the off-chain
 * ledger of a Filecoin network. Returns the new entries; the same thing handed in again is none.
 */
export async function appendOffchain(
  trx: Trx,
  identity: NetworkIdentity,
  events: HandedInEvent[],
): Promise<WholeEntry[]> {
  // Locked before what is there is looked at: the same voucher may come by two ways at once.
  await lockLog(trx)
  const scope = { from: 1, to: 0, events }
  const last = await getLastEntries(trx, identity.network, scope)
  const held = new Set(last.filter(({ op }) => op !== 'retract').map((entry) => entry.naturalKey))
  const fresh = events.filter((event) => !held.has(naturalKey(event)))
  const gone = last.filter(({ op }) => op === 'retract')
  return append(trx, planEntries(identity, gone, fresh, null))
}

/** Log and read model. */
async function append(trx: Trx, planned: NewEntry[]): Promise<WholeEntry[]> {
  const entries = await takePositions(trx, planned)
  const [first] = entries
  if (first === undefined) return entries
  await writeEntries(trx, entries)
  await project(trx, LIVE_SCHEMA, first.step - 1, entries)
  return entries
}

async function arrive(trx: Trx, network: string, from: number, step: BlocksStep | ReorgStep): Promise<void> {
  await putEvidence(trx, network, step.evidence)
  await putBlockPosition(trx, network, from)
  await movePosition(trx, network, step.to)
}
