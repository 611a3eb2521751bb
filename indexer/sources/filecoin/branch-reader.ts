import { RetryableError } from '../../../shared/errors.ts'
import type { BlockRef } from '../../../shared/events/chain-step.ts'
import type { RpcAnswer, RpcEndpoint } from '../rpc/rpc-endpoint.ts'
import { BadAnswer, CallFailed } from '../rpc/rpc-error.ts'
import { checkHashes, checkTime, decodeTipset, type ChainFacts, type Tipset } from './decode-tipset.ts'
import { keyParam, lotusCall } from './lotus-call.ts'
import type { TipsetMemory } from './tipset-memory.ts'

/** Input for reading a branch: one endpoint, the remembered tipsets, and facts that every tipset must match. */
export interface BranchReader {
  endpoint: RpcEndpoint
  memory: TipsetMemory
  facts: ChainFacts
}

/** Heights requested at once while walking down. */
const PREFETCH = 100
/**
 * The deepest walk below a head, in epochs; more than the 900 epochs within which a branch may still be reorganized.
 */
const MOST_WALKED = 1024
/** The search distance above a height, in epochs, for nodes without `ChainGetTipSetAfterHeight`. */
const FARTHEST_CHILD = 1 << 15

/** Verifies that a tipset belongs to this chain and remembers it. */
export function takeTipset({ memory, facts }: Omit<BranchReader, 'endpoint'>, value: unknown): Tipset {
  const tipset = decodeTipset(value)
  checkTime(tipset, facts)
  checkHashes(tipset, facts)
  memory.add(tipset)
  return tipset
}

/**
 * Returns the tipset of that key from memory or the endpoint. Throws a CallFailed when the endpoint does not know it.
 */
export async function tipsetOf(reader: BranchReader, key: string): Promise<Tipset> {
  const known = reader.memory.get(key)
  if (known !== undefined) return known
  const { method, params } = lotusCall('ChainGetTipSet', keyParam(key))
  const tipset = takeTipset(reader, await reader.endpoint.call(method, params))
  if (tipset.key !== key) throw new BadAnswer(`asked for the tipset ${key}, got ${tipset.key}`)
  return tipset
}

/**
 * Returns tipsets of one branch, each the parent of the one before it, from `start` down to the first at or below
 * `downTo`.
 *
 * Reading by height only fills the memory. Some nodes answer a null round with the tipset before it and some with an
 * error, so only parent keys decide the branch. Afterwards {@link childOf} returns this branch's children.
 */
export async function walkDown(reader: BranchReader, start: Tipset, downTo: number): Promise<Tipset[]> {
  const path = [start]
  for (let last = start; last.height > downTo;) {
    if (reader.memory.get(last.parentKey) === undefined) await prefetch(reader, last, downTo)
    const parent = await tipsetOf(reader, last.parentKey)
    if (parent.height >= last.height) {
      throw new BadAnswer(`the tipset at ${last.height} has a parent at ${parent.height}`)
    }
    reader.memory.preferAsChild(last)
    path.push(parent)
    last = parent
  }
  return path
}

async function prefetch(reader: BranchReader, below: Tipset, downTo: number): Promise<void> {
  const to = below.height - 1
  const from = Math.max(downTo, to - PREFETCH + 1)
  takeAll(reader, await reader.endpoint.send(byHeight(from, to, below.key)), from)
}

function byHeight(from: number, to: number, key: string): ReturnType<typeof lotusCall>[] {
  return Array.from({ length: to - from + 1 }, (_, index) =>
    lotusCall('ChainGetTipSetByHeight', from + index, keyParam(key)),
  )
}

/** Remembers the answers for consecutive heights from `from`; a refused height is later requested by key. */
function takeAll(reader: BranchReader, answers: readonly RpcAnswer[], from: number): void {
  for (const [index, answer] of answers.entries()) {
    if (answer.ok) takeAtOrBelow(reader, answer.result, from + index)
  }
}

function takeAtOrBelow(reader: BranchReader, value: unknown, height: number): Tipset {
  const tipset = takeTipset(reader, value)
  if (tipset.height <= height) return tipset
  throw new BadAnswer(`asked for the tipset at ${height}, got the one at ${tipset.height}`)
}

/**
 * Returns the tipsets of `from` … `to` (inclusive) on the branch of `head`, in {@link walkDown}'s order. The list
 * begins with one above `to` and ends with one at or below `from`.
 *
 * Tipsets near the head are found by walking down. Deeper ones are read by height, so that the cost does not grow with
 * the chain.
 */
export async function branchBelow(
  reader: BranchReader,
  head: Tipset,
  from: number,
  to: number,
): Promise<Tipset[]> {
  if (head.height - to <= MOST_WALKED) return walkDown(reader, head, from)
  return branchAcross(reader, from, to, head.key)
}

/**
 * Returns the tipsets of `from` … `to` (inclusive) on the branch of that key, in {@link walkDown}'s order. The key `''`
 * means the endpoint's own branch. The list begins with the newest tipset's child and ends with a tipset at or below
 * `from`. Throws a CallFailed while there is no such child.
 */
export async function branchAcross(
  reader: BranchReader,
  from: number,
  to: number,
  key = '',
): Promise<Tipset[]> {
  const calls = [lotusCall('ChainGetTipSetAfterHeight', to + 1, keyParam(key)), ...byHeight(from, to, key)]
  const [after, ...answers] = await reader.endpoint.send(calls)
  takeAll(reader, answers, from)
  const top =
    after?.ok === true ? await takeNext(reader, to, after.result) : await searchAbove(reader, to, key, after)
  return dropAbove(await walkDown(reader, top, from), to)
}

/**
 * Reads the tipset after a height. Its parent must not be above that height; otherwise the endpoint could make the walk
 * down arbitrarily long.
 */
async function takeNext(reader: BranchReader, height: number, value: unknown): Promise<Tipset> {
  const next = takeTipset(reader, value)
  if (next.height > height && (await tipsetOf(reader, next.parentKey)).height <= height) return next
  throw new BadAnswer(`asked for the tipset after ${height}, got the one at ${next.height}`)
}

/** Drops the tipsets above `to` except the lowest, which is the child. */
function dropAbove(path: Tipset[], to: number): Tipset[] {
  const below = path.findIndex(({ height }) => height <= to)
  return path.slice(Math.max(0, below - 1))
}

/**
 * Finds the next tipset on nodes without `ChainGetTipSetAfterHeight`. The distance doubles, because null rounds come in
 * rows.
 */
async function searchAbove(
  reader: BranchReader,
  height: number,
  key: string,
  refusal: RpcAnswer | undefined,
): Promise<Tipset> {
  if (refusal?.ok === false && refusal.kind === 'missing-block') throw notThere(height, refusal)
  for (let step = 1; step <= FARTHEST_CHILD; step *= 2) {
    const [answer] = await reader.endpoint.send(byHeight(height + step, height + step, key))
    if (answer?.ok === true) {
      const tipset = takeAtOrBelow(reader, answer.result, height + step)
      if (tipset.height > height) return tipset
    } else if (answer?.kind === 'missing-block') throw notThere(height, answer)
  }
  throw notThere(height, refusal)
}

function notThere(height: number, answer: RpcAnswer | undefined): CallFailed {
  const said = answer?.ok === false ? `: ${answer.message}` : ''
  return new CallFailed(`no tipset above ${height}${said}`, 'missing-block')
}

/** Returns the child of a block, whose key is `block.hash`. Throws a CallFailed when the endpoint's branch has none. */
export async function childOf(reader: BranchReader, block: BlockRef): Promise<Tipset> {
  const known = reader.memory.childOf(block.hash)
  if (known !== undefined) return known
  const path = await branchAcross(reader, block.number, block.number)
  const [child, tipset] = path
  if (child !== undefined && tipset?.key === block.hash) return child
  throw new CallFailed(`block ${block.number} (${block.hash}) is not on its branch`, 'missing-block')
}

/**
 * Runs `task`, which asks about the remembered children of these blocks, and forgets them when it fails. A child may be
 * an orphan that only another endpoint has seen, so every retry would fail too.
 */
export async function forgettingChildren<T>(
  memory: TipsetMemory,
  blocks: readonly BlockRef[],
  task: () => Promise<T>,
): Promise<T> {
  try {
    return await task()
  } catch (error) {
    if (error instanceof RetryableError) for (const { hash } of blocks) memory.dropChildOf(hash)
    throw error
  }
}
