import type { BlockHeader } from '../../../shared/events/chain-step.ts'
import { BadAnswer } from '../rpc/rpc-error.ts'
import { parseCid } from '../../../shared/filecoin/block-cid.ts'
import { sameBytes } from '../../../shared/filecoin/bytes.ts'
import { cidOf, isRecord, itemsOf, record, wholeNumber } from './decode-json.ts'
import { HashedBlock } from './proof/hashed-block.ts'

/** (pure) One tipset: blocks of one height with the same parents. */
export interface Tipset {
  height: number
  /** The CIDs of its blocks in order, joined by commas. Different keys are different tipsets, even at one height. */
  key: string
  /** Any block of a tipset commits to the result of executing its parents. */
  firstCid: string
  parentKey: string
  /** Unix seconds. */
  timeS: number
  /** Null unless the CID of every block, computed from its header, is the one in the key. */
  commitments: Commitments | null
}

/** CIDs to which the headers of a tipset commit. */
export interface Commitments {
  /** The receipts of the parents' messages, the same in all blocks. */
  parentReceipts: string
  /** The messages of each block, in the key's order. */
  messages: string[]
}

/** Facts that are the same at every endpoint of one network. */
export interface ChainFacts {
  genesisKey: string
  /** Unix seconds. */
  genesisTimeS: number
  epochDurationS: number
  /** Whether headers hash to their CIDs, as on every Filecoin network; a tipset whose headers do not is then refused. */
  areHeadersHashed: boolean
}

/** A tipset has about five blocks; an answer with many more is no tipset. */
const MAX_BLOCKS = 100

/** Throws a BadAnswer when the parts contradict each other. */
export function decodeTipset(value: unknown): Tipset {
  const tipset = record(value, 'tipset')
  const cids = itemsOf(tipset['Cids'], 'tipset CIDs').map((cid) => cidOf(cid, 'block CID'))
  const blocks = itemsOf(tipset['Blocks'], 'tipset blocks').map(hashedBlock)
  const height = wholeNumber(tipset['Height'], 'tipset height')
  const firstCid = cids[0]
  if (firstCid === undefined || cids.length !== blocks.length || cids.length > MAX_BLOCKS) {
    throw new BadAnswer(`tipset at ${height}: ${cids.length} CIDs, ${blocks.length} blocks`)
  }
  const firstBlock = blocks[0]
  const parents = itemsOf(firstBlock?.Parents, 'block parents').map((cid) => cidOf(cid, 'parent CID'))
  const timeS = wholeNumber(firstBlock?.Timestamp, 'block time')
  for (const { Height, Parents, Timestamp } of blocks) {
    if (Height !== height) throw new BadAnswer(`tipset at ${height}: a block of another height`)
    if (Timestamp !== timeS || !areTheCids(Parents, parents)) {
      throw new BadAnswer(`tipset at ${height}: blocks of different parents or times`)
    }
  }
  const commitments = commitmentsOf(cids, blocks)
  return { height, key: cids.join(','), firstCid, parentKey: parents.join(','), timeS, commitments }
}

function hashedBlock(value: unknown): HashedBlock {
  return value instanceof HashedBlock ? value : new HashedBlock(record(value, 'block'))
}

function commitmentsOf(cids: readonly string[], blocks: readonly HashedBlock[]): Commitments | null {
  const areHashed = blocks.every(({ cid }, index) => {
    const named = parseCid(cids[index] ?? '')
    return cid !== null && named !== null && sameBytes(cid, named)
  })
  if (!areHashed) return null
  return {
    parentReceipts: cidOf(blocks[0]?.ParentMessageReceipts, 'receipts CID'),
    messages: blocks.map(({ Messages }) => cidOf(Messages, 'messages CID')),
  }
}

/** Cheaper than parsing every block's parents, which are equal. */
function areTheCids(value: unknown, cids: readonly string[]): boolean {
  const items = itemsOf(value, 'block parents')
  return (
    items.length === cids.length && items.every((item, index) => isRecord(item) && item['/'] === cids[index])
  )
}

/** A tipset's time follows from its height. A different time means that the endpoint follows another chain or lies. */
export function checkTime(tipset: Tipset, facts: ChainFacts): void {
  if (tipset.timeS !== epochTimeS(tipset.height, facts)) {
    throw new BadAnswer(`tipset at ${tipset.height}: its time is ${tipset.timeS}`)
  }
}

/** A header that does not hash to its CID was changed, or is of another block. */
export function checkHashes({ height, key, commitments }: Tipset, { areHeadersHashed }: ChainFacts): void {
  if (areHeadersHashed && commitments === null) {
    throw new BadAnswer(`tipset at ${height}: its headers do not hash to ${key}`)
  }
}

export function epochTimeS(height: number, facts: ChainFacts): number {
  return facts.genesisTimeS + height * facts.epochDurationS
}

export function headerOf(tipset: Tipset): BlockHeader {
  return { number: tipset.height, hash: tipset.key, parentHash: tipset.parentKey, timeS: tipset.timeS }
}

/**
 * Returns the heights `from` … `to` (inclusive) as consecutive blocks. `path` descends by parents and reaches a tipset
 * at or below `from`. A height without a tipset (a null round) shows the newest tipset below it, as its own parent.
 */
export function denseHeaders(
  path: readonly Tipset[],
  from: number,
  to: number,
  facts: ChainFacts,
): BlockHeader[] {
  const headers: BlockHeader[] = []
  let at = path.length - 1
  for (let height = from; height <= to; height += 1) {
    while (at > 0 && (path[at - 1]?.height ?? Infinity) <= height) at -= 1
    const tipset = path[at]
    if (tipset === undefined || tipset.height > height) throw new BadAnswer(`no tipset at or below ${height}`)
    headers.push(
      tipset.height === height
        ? headerOf(tipset)
        : { number: height, hash: tipset.key, parentHash: tipset.key, timeS: epochTimeS(height, facts) },
    )
  }
  return headers
}

/** Returns whether the header represents a height without a tipset, where nothing happened. */
export function isNullRound(header: BlockHeader): boolean {
  return header.hash === header.parentHash
}
