import { RetryableError } from '../../../shared/errors.ts'
import type { BlockRef } from '../../../shared/events/chain-step.ts'
import type { RpcAnswer, RpcEndpoint } from '../rpc/rpc-endpoint.ts'
import { BadAnswer, CallFailed } from '../rpc/rpc-error.ts'
import { checkTime, decodeTipset, type ChainFacts, type Tipset } from './decode-tipset.ts'
import { keyParam, lotusCall } from './lotus-call.ts'
import type { TipsetMemory } from './tipset-memory.ts'

/** The needs of reading a branch: one endpoint, what is remembered, and what all tipsets must agree with. */
export interface BranchReader {
  endpoint: RpcEndpoint
  memory: TipsetMemory
  facts: ChainFacts
}

/** Heights asked for at once while walking down. */
const PREFETCH = 100
/** So far below a head a branch is walked down to: farther than the 900 epochs within which it may still be reorganized. */
const MOST_WALKED = 1024
/** How far above a height its next tipset is looked for where an endpoint cannot tell. */
const FARTHEST_CHILD = 1 << 15

/** Checks a tipset of this chain and remembers it. */
export function takeTipset({ memory, facts }: Omit<BranchReader, 'endpoint'>, value: unknown): Tipset {
  const tipset = decodeTipset(value)
  checkTime(tipset, facts)
  memory.add(tipset)
  return tipset
}

/** The tipset of that key, remembered or asked for. Throws a CallFailed when the endpoint does not know it. */
export async function tipsetOf(reader: BranchReader, key: string): Promise<Tipset> {
  const known = reader.memory.get(key)
  if (known !== undefined) return known
  const { method, params } = lotusCall('ChainGetTipSet', keyParam(key))
  const tipset = takeTipset(reader, await reader.endpoint.call(method, params))
  if (tipset.key !== key) throw new BadAnswer(`asked for the tipset ${key}, got ${tipset.key}`)
  return tipset
}

/**
 * Tipsets of one branch, each the parent of the one before it, from `start` down to the first one at or below `downTo`.
 * Reading by height only fills the memory: at a null round some nodes answer with the tipset before it and some with an
 * error, so the parents' keys alone decide what is on the branch. From then on {@link childOf} gives this branch's.
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

/** Remembers what was answered for consecutive heights from `from` on; what was refused is asked for by key. */
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
 * The tipsets of `from` … `to` (inclusive) on the branch of `head`, as {@link walkDown} gives them: led by one above `to`,
 * and ending with one at or below `from`. Near the head their descendants lead down to them. Farther down they are read by
 * height, as final ranges are, for what that costs does not grow with the chain.
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
 * The tipsets of `from` … `to` (inclusive) on the branch of that key (`''`: the endpoint's own), as {@link walkDown} gives
 * them: led by the child of the newest one, and ending with one at or below `from`. Throws a CallFailed when there is no
 * such child yet.
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

/** The tipset after a height: its parent is not above that, or the walk down would be as long as the endpoint likes. */
async function takeNext(reader: BranchReader, height: number, value: unknown): Promise<Tipset> {
  const next = takeTipset(reader, value)
  if (next.height > height && (await tipsetOf(reader, next.parentKey)).height <= height) return next
  throw new BadAnswer(`asked for the tipset after ${height}, got the one at ${next.height}`)
}

/** Without the tipsets above `to`, except the lowest of them: the child. */
function dropAbove(path: Tipset[], to: number): Tipset[] {
  const below = path.findIndex(({ height }) => height <= to)
  return path.slice(Math.max(0, below - 1))
}

/** For nodes that cannot tell the tipset after a height: farther and farther up, for null rounds come in rows. */
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

/** The child of a block, whose key is `block.hash`. Throws a CallFailed when the endpoint's branch has none. */
export async function childOf(reader: BranchReader, block: BlockRef): Promise<Tipset> {
  const known = reader.memory.childOf(block.hash)
  if (known !== undefined) return known
  const path = await branchAcross(reader, block.number, block.number)
  const [child, tipset] = path
  if (child !== undefined && tipset?.key === block.hash) return child
  throw new CallFailed(`block ${block.number} (${block.hash}) is not on its branch`, 'missing-block')
}

/**
 * Runs `task`, which asks about the remembered children of these blocks. When it fails they are forgotten: one may be
 * an orphan that only another endpoint has seen, and that would be asked for again and again.
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
