import type { Test } from 'tap'
import type { Random } from '../../devnet/evm/random.ts'
import { isJson, type Fault, type Json } from '../../devnet/faults/fault.ts'
import { lying, named, TIPSETS } from '../../devnet/faults/lotus-lying.ts'
import { madeUpChildren } from '../../devnet/faults/made-up-child.ts'
import { cidText } from '../../devnet/filecoin/chain/block.ts'
import { startLotus, type Lotus } from '../../devnet/filecoin/lotus.ts'
import type { RangeRead } from '../../indexer/sources/chain-source.ts'
import { createFilecoinSource } from '../../indexer/sources/filecoin/filecoin-source.ts'
import { ProvenResults } from '../../indexer/sources/proven-results.ts'
import { RetryableError } from '../../shared/errors.ts'
import type { ChainEvent } from '../../shared/events/chain-event.ts'
import { blockCid } from '../../shared/filecoin/block-cid.ts'
import { networkOf } from '../chain/filecoin/catch-up.ts'
import { Traffic } from '../chain/filecoin/traffic.ts'
import { freshWhenRefused } from './fresh-source.ts'
import type { LieGroup, LieKind, Outcome } from './lie-kind.ts'
import { recordNode, type RecordedNode } from './recorded-node.ts'

const EPOCHS = 80
const MESSAGES = 4

/** A tipset with events, its child, and what is true of both. */
interface Place {
  number: number
  child: number
  /** CID of the child's first block, by which its parents' messages are asked for. */
  childCid: string
  truth: ChainEvent[]
  next: RangeRead
  /** Indexes of the messages with exit code 0. */
  succeeded: number[]
}

interface LiarOfLotus {
  node: RecordedNode
  places: Place[]
  read: (from: number, to: number) => Promise<RangeRead>
}

async function startLiar(t: Pick<Test, 'teardown'>, seed: string): Promise<LiarOfLotus> {
  const lotus = await startLotus({ tickMs: null, settleDelayEpochs: 5, seed, blocksPerTipset: [2, 5] })
  t.teardown(() => lotus.stop())
  const traffic = new Traffic(lotus, seed)
  await traffic.begin()
  for (let epoch = 0; epoch < EPOCHS; epoch += 1) {
    await traffic.play(MESSAGES)
    await lotus.chain.mine()
  }
  const node = await recordNode(t, lotus.url)
  const withSource = freshWhenRefused(() => {
    const source = createFilecoinSource(networkOf(node))
    source.believeRules?.({ headers: true, receipts: true, messages: true })
    return source
  })
  const read = (from: number, to: number): Promise<RangeRead> =>
    withSource((source) => source.readRange(from, to))
  return { node, read, places: await placesOf(lotus, read) }
}

async function placesOf({ chain, url }: Lotus, read: LiarOfLotus['read']): Promise<Place[]> {
  const places: Place[] = []
  for (let number = 5; number < EPOCHS - 5; number += 1) {
    const own = await read(number, number)
    if (own.first.hash === own.first.parentHash || own.events.length === 0) continue
    const child = chain.store.atOrBelow(number + 1, chain.head())
    if (child.height !== number + 1) continue
    const next = await read(number + 1, number + 1)
    const childCid = next.first.hash.split(',')[0] ?? ''
    const receipts = await parentReceipts(url, childCid)
    const succeeded = receipts.flatMap(({ ExitCode }, index) => (ExitCode === 0 ? index : []))
    places.push({ number, child: number + 1, childCid, truth: own.events, next, succeeded })
  }
  return places
}

async function parentReceipts(url: string, cid: string): Promise<Json[]> {
  const call = { jsonrpc: '2.0', id: 1, method: named('ChainGetParentReceipts'), params: [{ '/': cid }] }
  const headers = { 'content-type': 'application/json' }
  const answer = await fetch(url, { method: 'POST', headers, body: JSON.stringify(call) })
  return ((await answer.json()) as { result: Json[] | null }).result ?? []
}

/** Makes the fault for a place. */
type MakeLie = (place: Place, random: Random) => Fault

/** Changes the lists of messages and receipts of the tipset, which its child names. */
function ofTipset(
  method: 'Messages' | 'Receipts',
  { childCid }: Place,
  change: (list: Json[]) => unknown,
): Fault {
  return lying([`ChainGetParent${method}`], (result, { params: [cid] }) =>
    isJson(cid) && cid['/'] === childCid && Array.isArray(result) ? change(result as Json[]) : undefined,
  )
}

function both(...faults: Fault[]): Fault {
  return async (requests, truth, isBatch, upstream) => {
    let answers = truth
    let isFalse = false
    for (const fault of faults) {
      const before = answers
      const reply = await fault(requests, before, isBatch, upstream)
      if (!Array.isArray(reply)) continue
      isFalse = true
      answers = () => Promise.resolve(reply)
    }
    return isFalse ? answers() : null
  }
}

const OTHER_CID = { '/': cidText(blockCid(Uint8Array.of(1))) }
const OTHERS: Record<string, (value: unknown) => unknown> = {
  ExitCode: (value) => (value === 0 ? 16 : 0),
  Return: (value) => (value === null ? 'gA==' : null),
  GasUsed: (value) => Number(value) + 1,
  EventsRoot: (value) => (value === null ? OTHER_CID : null),
}
const HEADER_FIELDS: Record<string, (value: unknown) => unknown> = {
  Miner: () => 'f01999',
  Ticket: () => ({ VRFProof: 'AAAA' }),
  ElectionProof: () => ({ WinCount: 9, VRFProof: null }),
  BeaconEntries: () => [{ Round: 1, Data: 'AA==' }],
  WinPoStProof: () => [{ PoStProof: 1, ProofBytes: 'AA==' }],
  ParentWeight: (value) => `${String(value)}1`,
  ParentStateRoot: () => OTHER_CID,
  ParentMessageReceipts: () => OTHER_CID,
  Messages: () => OTHER_CID,
  BLSAggregate: () => ({ Type: 2, Data: 'AA==' }),
  BlockSig: () => ({ Type: 2, Data: 'AA==' }),
  ForkSignaling: () => 1,
  ParentBaseFee: (value) => `${String(value)}1`,
}

function ofSomeBlock(
  { number, child }: Place,
  random: Random,
  change: (tipset: Json, at: number) => Json,
): Fault {
  const height = random.pick([number, child])
  return lying(TIPSETS, (result) =>
    isJson(result) && result['Height'] === height
      ? change(result, random.int(0, (result['Blocks'] as unknown[]).length - 1))
      : undefined,
  )
}

const indexOf = (place: Place, random: Random, isOurs: (event: ChainEvent) => boolean): number =>
  random.pick(place.truth.filter(isOurs)).logIndex

const isTransfer = ({ kind }: ChainEvent): boolean => kind === 'FundChannel'

/** Their indexes in the tipset; transfers are none. */
function channelMessages({ truth }: Place): number[] {
  return [...new Set(truth.flatMap((event) => (isTransfer(event) ? [] : event.logIndex)))]
}

interface TipsetLie {
  shownBy: string
  make: MakeLie
  among?: (place: Place) => boolean
  /** The kind does not claim to exclude this lie (docs/proof.md). */
  isNotClaimed?: true
}

const LIES: Record<string, TipsetLie> = {
  'a receipt changed': {
    shownBy: 'root of receipts',
    make: (place, random) =>
      ofTipset('Receipts', place, (list) => {
        const [at, field] = [random.int(0, list.length - 1), random.pick(Object.keys(OTHERS))]
        return list.with(at, { ...list[at], [field]: OTHERS[field]?.(list[at]?.[field]) })
      }),
  },
  'receipts in another order': {
    shownBy: 'root of receipts',
    among: ({ truth }) => truth.length > 1,
    make: (place) => ofTipset('Receipts', place, (list) => [...list.slice(1), list[0]]),
  },
  'a message left out with its receipt': {
    shownBy: 'root of receipts',
    make: (place, random) => {
      const gone = indexOf(place, random, () => true)
      const without = (list: Json[]): Json[] => list.filter((_, at) => at !== gone)
      return both(ofTipset('Messages', place, without), ofTipset('Receipts', place, without))
    },
  },
  'a field of a header changed': {
    shownBy: 'CID of the block',
    make: (place, random) =>
      ofSomeBlock(place, random, (tipset, at) => {
        const field = random.pick(Object.keys(HEADER_FIELDS))
        const blocks = tipset['Blocks'] as Json[]
        return {
          ...tipset,
          Blocks: blocks.with(at, { ...blocks[at], [field]: HEADER_FIELDS[field]?.(blocks[at]?.[field]) }),
        }
      }),
  },
  'a block with another CID': {
    shownBy: 'CID of the block',
    make: (place, random) =>
      ofSomeBlock(place, random, (tipset, at) => ({
        ...tipset,
        Cids: (tipset['Cids'] as unknown[]).with(at, { '/': cidText(blockCid(random.bytes(8))) }),
      })),
  },
  'a list of a block’s messages changed': {
    shownBy: 'root of messages',
    among: ({ truth }) => !truth.every(isTransfer),
    make: (_place, random) =>
      lying(['ChainGetBlockMessages'], (result) => {
        const { BlsMessages, SecpkMessages, Cids } = result as Record<string, unknown[]>
        if (Cids === undefined || Cids.length === 0) return undefined
        const at = random.int(0, Cids.length - 1)
        return random.chance(0.5)
          ? { BlsMessages, SecpkMessages, Cids: Cids.with(at, OTHER_CID) }
          : {
              BlsMessages: [],
              SecpkMessages: SecpkMessages?.slice(1),
              Cids: Cids.slice(1 + (BlsMessages?.length ?? 0)),
            }
      }),
  },
  'a channel’s message changed': {
    shownBy: 'CID of the message, in the list of its block',
    among: ({ truth }) => !truth.every(isTransfer),
    make: (place, random) => {
      const index = indexOf(place, random, (event) => !isTransfer(event))
      return ofTipset('Messages', place, (list) =>
        list.with(index, otherMessage(list[index], random.pick([{ Nonce: 9_999 }, { Value: '777' }]))),
      )
    },
  },
  'a channel’s message hidden in both answers': {
    shownBy: 'CID of each message in the lists of blocks',
    among: (place) => channelMessages(place).length >= 2,
    make: (place, random) => {
      const index = indexOf(place, random, (event) => !isTransfer(event))
      const hidden = random.pick([{ Method: 0, Params: null, Value: '0' }, { Params: '=' }])
      return inBothAnswers(place, index, hidden)
    },
  },
  'messages in another order, with a false sender in the lists': {
    shownBy: 'CID of each message in the lists of blocks',
    among: (place) => swaps(place).length > 0,
    make: (place, random) => inAnotherOrder(place, random),
  },
  'a transfer to a channel changed': {
    shownBy: 'CID of the message, beside other messages of channels or in one of 50 tipsets',
    isNotClaimed: true,
    among: ({ truth }) => truth.some(isTransfer),
    make: (place, random) => {
      const index = indexOf(place, random, isTransfer)
      return ofTipset('Messages', place, (list) =>
        list.with(index, otherMessage(list[index], { Value: '777' })),
      )
    },
  },
  'a channel’s message behind one of no channel': {
    shownBy: 'root of messages, in one of 50 tipsets',
    isNotClaimed: true,
    among: ({ truth }) => truth.length === 1 && !truth.some(isTransfer),
    make: (place, random) => {
      const index = indexOf(place, random, () => true)
      return ofTipset('Messages', place, (list) =>
        list.with(index, otherMessage(list[index], { Method: 0, Params: null })),
      )
    },
  },
}

/** Changes this message in the lists of blocks that have it. */
function inLists(cid: () => unknown, change: (message: Json) => Json): Fault {
  const isIt = (name: unknown): boolean => JSON.stringify(name) === JSON.stringify(cid())
  return lying(['ChainGetBlockMessages'], (result) => {
    const { BlsMessages, SecpkMessages, Cids } = result as { BlsMessages: Json[] | null } & Record<
      string,
      Json[]
    >
    const at = Cids?.findIndex(isIt) ?? -1
    if (at < 0) return undefined
    const bls = BlsMessages ?? []
    return {
      Cids,
      BlsMessages: bls.map((message, index) => (index === at ? change(message) : message)),
      SecpkMessages: (SecpkMessages ?? []).map((signed, index) =>
        bls.length + index === at ? { ...signed, Message: change(signed['Message'] as Json) } : signed,
      ),
    }
  })
}

/** Changes fields of a message in the tipset's list, and in those of its blocks once the first was asked for. */
function inBothAnswers(place: Place, index: number, fields: Json): Fault {
  let cid: unknown
  return both(
    ofTipset('Messages', place, (list) => {
      cid = list[index]?.['Cid']
      return list.with(index, otherMessage(list[index], fields))
    }),
    inLists(
      () => cid,
      (message) => ({ ...message, ...fields }),
    ),
  )
}

/**
 * A channel's message swapped with a later one. The lists give that one the first's sender and nonce, so that it seems to
 * repeat it.
 */
function inAnotherOrder(place: Place, random: Random): Fault {
  const [first, second] = random.pick(swaps(place))
  let cid: unknown
  let sender: Json = {}
  return both(
    ofTipset('Messages', place, (list) => {
      const [one, other] = [list[first], list[second]]
      cid = other?.['Cid']
      const { From, Nonce } = one?.['Message'] as Json
      sender = { From, Nonce }
      return list.map((item, index) => (index === first ? other : index === second ? one : item))
    }),
    inLists(
      () => cid,
      (message) => ({ ...message, ...sender }),
    ),
  )
}

/** Pairs of a channel's message and a later one of no channel that succeeded. */
function swaps(place: Place): [number, number][] {
  const ours = new Set(place.truth.map(({ logIndex }) => logIndex))
  const others = place.succeeded.filter((index) => !ours.has(index))
  return channelMessages(place).flatMap((one) =>
    others.filter((other) => other > one).map((other): [number, number] => [one, other]),
  )
}

/** Without the unsigned message's CID, which would show the change. */
function otherMessage(item: Json | undefined, fields: Json): Json {
  return { ...item, Message: { ...(item?.['Message'] as Json), ...fields, CID: undefined } }
}

const MADE_UP = 'receipts changed, with a made-up child'

/** Tipsets of a Filecoin chain, as a backfill reads them. */
export const filecoin: LieGroup = {
  name: 'filecoin',
  about: 'tipsets of a Filecoin chain',
  async begin(t, seed) {
    const { node, places, read } = await startLiar(t, seed)
    const telling = async (fault: Fault, task: () => Promise<Outcome>): Promise<Outcome> => {
      node.fault = fault
      try {
        return await task()
      } catch (error) {
        if (error instanceof RetryableError) return 'refused'
        throw error
      } finally {
        node.fault = () => null
      }
    }
    const kinds = Object.entries(LIES).map(
      ([name, { shownBy, make, among, isNotClaimed = false }]): LieKind => {
        const own = places.filter(among ?? (() => true))
        return {
          name,
          shownBy,
          tell: (random) => {
            const place = random.pick(own)
            const { number, child, truth, next } = place
            return telling(make(place, random), async () => {
              // With its child, so that the tipset is one that counts as proven.
              const { events, evidence } = await read(number, child)
              if (JSON.stringify(events) === JSON.stringify([...truth, ...next.events])) return 'harmless'
              const kind = evidence.find(({ from, to }) => from <= number && number <= to)?.check
              return kind === 'one' || isNotClaimed ? 'open' : 'accepted'
            })
          },
        }
      },
    )
    const madeUp: LieKind = {
      name: MADE_UP,
      shownBy: 'the child that is indexed next; until then the kind is `one`',
      tell: (random) => {
        const { number, child, truth, next } = random.pick(places)
        const at = random.bytes(1)[0] ?? 0
        const fault = madeUpChildren((receipts, height) => {
          if (height !== child || receipts.length === 0) return null
          const place = at % receipts.length
          return receipts.with(place, {
            ...receipts[place],
            ExitCode: receipts[place]?.['ExitCode'] === 0 ? 16 : 0,
          })
        })
        return telling(fault, async () => {
          const own = await read(number, number)
          const isTrue = JSON.stringify(own.events) === JSON.stringify(truth)
          if (own.evidence.at(-1)?.check !== 'one') return isTrue ? 'harmless' : 'accepted'
          const results = new ProvenResults()
          results.take(own)
          if (results.disproven(next) === own.last.hash) return 'found'
          return isTrue ? 'harmless' : 'open'
        })
      },
    }
    return [...kinds, madeUp]
  },
}
