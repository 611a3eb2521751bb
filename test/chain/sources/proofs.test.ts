import t from 'tap'
import { readAgain } from '../../../indexer/read-again.ts'
import { headersByHash, readWholeBlocks, type BlockLogs } from '../../../indexer/sources/evm/block-reader.ts'
import { bloomOf } from '../../../indexer/sources/evm/bloom.ts'
import { createEvmClient } from '../../../indexer/sources/evm/evm-client.ts'
import { createEvmSource } from '../../../indexer/sources/evm/evm-source.ts'
import { ChainRules, holdTo } from '../../../indexer/sources/evm/proof/chain-rules.ts'
import { receiptsRoot } from '../../../indexer/sources/evm/proof/receipts-root.ts'
import { watchedContracts } from '../../../indexer/sources/evm/watched-contracts.ts'
import { clientSettings } from '../../../indexer/sources/rpc/rpc-client.ts'
import { BadAnswer } from '../../../indexer/sources/rpc/rpc-error.ts'
import { lyingAnswers, Refusal, type Fault, type Json } from '../../../devnet/faults/fault.ts'
import type { ChainEvent } from '../../../shared/events/chain-event.ts'
import { cases } from '../../helpers/cases.ts'
import { seededRandom } from '../../helpers/random-chain.ts'
import { testSeed } from '../../helpers/test-seed.ts'
import { catchUp } from './catch-up.ts'
import { startProxy } from './faulty-proxy.ts'
import { Player, startLittleChain } from './little-chain.ts'
import { sameAsNode, StepIndex } from './step-index.ts'

/** One endpoint that tells the same lie about a block in all its answers, under the block's true hash. */

const seed = testSeed(t)
t.setTimeout(400_000)
const chain = await startLittleChain(t, { slotsInAnEpoch: 4 })
const player = new Player(chain, seed)
for (let block = 0; block < 24; block += 1) {
  await player.play(5)
  await chain.mine()
}
const head = Number(await chain.rpc('eth_blockNumber'))
const contracts = watchedContracts(chain.network())
const random = seededRandom(seed)

const hashText = (): string => `0x${Array.from({ length: 64 }, () => random.below(16).toString(16)).join('')}`
const flipped = (hex: string): string => hex.slice(0, -1) + (hex.endsWith('1') ? '2' : '1')

/** The last character has the low byte of a digit, which a careless decoder takes for that digit. */
const disguised = (hex: string): string =>
  hex.slice(0, -1) + String.fromCharCode(0x100 + hex.charCodeAt(hex.length - 1))

/** Changes that a liar makes to one block; a log or a receipt that stays is returned as it is. */
interface Lie {
  log?: (log: Json) => Json | null
  receipt?: (receipt: Json) => Json
  header?: (block: Json) => Json
}

function telling(lie: Lie, hash: string): Fault {
  const { log: ofLog = (log: Json) => log, receipt: ofReceipt = (receipt: Json) => receipt } = lie
  const changedLogs = (logs: Json[]): Json[] =>
    logs.map((log) => (log['blockHash'] === hash ? ofLog(log) : log)).filter((log) => log !== null)
  const changedReceipt = (receipt: Json): Json =>
    receipt['blockHash'] === hash
      ? { ...ofReceipt(receipt), logs: changedLogs(ofReceipt(receipt)['logs'] as Json[]) }
      : receipt
  const methods = ['eth_getLogs', 'eth_getBlockReceipts', 'eth_getTransactionReceipt']
  return lyingAnswers([...methods, 'eth_getBlockByNumber', 'eth_getBlockByHash'], (result, { method }) => {
    if (method === 'eth_getLogs') return numbered(changedLogs(result as Json[]))
    if (method === 'eth_getBlockReceipts') return (result as Json[]).map(changedReceipt)
    if (method === 'eth_getTransactionReceipt') return changedReceipt(result as Json)
    const block = result as Json | null
    return block?.['hash'] === hash ? lie.header?.(block) : undefined
  })
}

/** A liar numbers a block's remaining logs without a gap. */
function numbered(logs: Json[]): Json[] {
  let [block, next]: [unknown, number] = [null, 0]
  return logs.map((log) => {
    if (log['blockHash'] !== block) [block, next] = [log['blockHash'], 0]
    next += 1
    return { ...log, logIndex: `0x${(next - 1).toString(16)}` }
  })
}

interface Target {
  hash: string
  /** Index of a log of ours, and its transaction's hash. */
  logIndex: string
  txHash: string
  receipts: Json[]
}

const isLog = ({ logIndex }: Target, log: Json): boolean => log['logIndex'] === logIndex
const isTx = ({ txHash }: Target, { transactionHash }: Json): boolean => transactionHash === txHash

const LIES: Record<string, (target: Target) => Lie> = {
  'a log changed': (target) => ({
    log: (log) => (isLog(target, log) ? { ...log, data: flipped(String(log['data'])) } : log),
  }),
  'a log whose address only looks like hex': (target) => ({
    log: (log) => (isLog(target, log) ? { ...log, address: disguised(String(log['address'])) } : log),
  }),
  'a log left out': (target) => ({ log: (log) => (isLog(target, log) ? null : log) }),
  'a log left out, with root and bloom to fit': (target) => {
    const logs = (receipt: Json): Json[] => (receipt['logs'] as Json[]).filter((log) => !isLog(target, log))
    const bloom = (of: Json[]): string => bloomOf(of as never)
    const receipts = target.receipts.map((receipt) => ({
      ...{ ...receipt, logs: logs(receipt) },
      logsBloom: bloom(logs(receipt)),
    }))
    return {
      log: (log) => (isLog(target, log) ? null : log),
      receipt: (receipt) => ({ ...receipt, logsBloom: bloom(logs(receipt)) }),
      header: (block) => ({
        ...{ ...block, receiptsRoot: receiptsRoot(receipts) },
        logsBloom: bloom(receipts.flatMap((receipt) => receipt.logs)),
      }),
    }
  },
  'a receipt told as reverted': (target) => ({
    log: (log) => (isTx(target, log) ? null : log),
    receipt: (receipt) => (isTx(target, receipt) ? { ...receipt, status: '0x0' } : receipt),
  }),
  'a transaction with another hash': (target) => {
    const transactionHash = hashText()
    const renamed = (value: unknown): unknown =>
      value === target.txHash
        ? transactionHash
        : (value as Json)['hash'] === target.txHash
          ? { ...(value as Json), hash: transactionHash }
          : value
    return {
      log: (log) => (isTx(target, log) ? { ...log, transactionHash } : log),
      receipt: (receipt) => (isTx(target, receipt) ? { ...receipt, transactionHash } : receipt),
      header: (block) => ({ ...block, transactions: (block['transactions'] as unknown[]).map(renamed) }),
    }
  },
  'a transaction changed': () => ({
    header: (block) => ({
      ...block,
      transactions: (block['transactions'] as unknown[]).map((item) =>
        typeof item === 'string' ? item : { ...(item as Json), nonce: '0xffff' },
      ),
    }),
  }),
  'a header changed': () => {
    const fields = [
      'parentHash',
      'stateRoot',
      'receiptsRoot',
      'transactionsRoot',
      'logsBloom',
      'timestamp',
      'number',
    ]
    const field = fields[random.below(fields.length)] ?? ''
    return { header: (block) => ({ ...block, [field]: flipped(String(block[field])) }) }
  },
  'a block that looks empty': () => ({
    log: () => null,
    receipt: (receipt) => ({ ...receipt, logs: [] }),
    header: (block) => ({ ...block, logsBloom: `0x${'00'.repeat(256)}`, transactions: [] }),
  }),
}

const proxy = await startProxy(t, chain.url)
const client = createEvmClient([proxy.url], '31337', clientSettings('evm:31337', {}, 10_000))
t.teardown(() => client.close())
const rules = new ChainRules()
rules.believe({ headers: true, receipts: true, transactions: true })
holdTo(rules, client.others())

async function readBlock(hash: string): Promise<BlockLogs[]> {
  const [endpoint] = client.others()
  if (endpoint === undefined) throw new Error('one endpoint')
  return readWholeBlocks(endpoint, await headersByHash(endpoint, [hash]), contracts, () => false)
}

async function targets(): Promise<{ target: Target; truth: BlockLogs[] }[]> {
  proxy.fault = () => null
  const found: { target: Target; truth: BlockLogs[] }[] = []
  for (let number = 1; number <= head; number += 1) {
    const { hash } = (await chain.rpc('eth_getBlockByNumber', `0x${number.toString(16)}`, false)) as {
      hash: string
    }
    const truth = await readBlock(hash)
    const receipts = (await chain.rpc('eth_getBlockReceipts', hash)) as Json[]
    for (const { logIndex, txHash } of truth[0]?.logs ?? [])
      found.push({ target: { hash, logIndex: `0x${logIndex.toString(16)}`, txHash, receipts }, truth })
  }
  return found
}

void t.test('no lie of one endpoint about a block is taken', async (t) => {
  const places = await targets()
  t.ok(places.length > 50, `${places.length} logs`)
  t.ok(places.every(({ truth }) => truth[0]?.check === 'receipts'))
  for (const [kind, make] of Object.entries(LIES)) {
    const outcomes = { refused: 0, harmless: 0, accepted: 0 }
    for (let told = 0; told < cases(1_000); told += 1) {
      const place = places[random.below(places.length)]
      if (place === undefined) continue
      proxy.fault = telling(make(place.target), place.target.hash)
      try {
        const read = await readBlock(place.target.hash)
        outcomes[JSON.stringify(read) === JSON.stringify(place.truth) ? 'harmless' : 'accepted'] += 1
      } catch (error) {
        if (!(error instanceof BadAnswer)) throw error
        outcomes.refused += 1
      }
    }
    t.equal(outcomes.accepted, 0, `${kind}: ${JSON.stringify(outcomes)}`)
    t.equal(
      outcomes.harmless > 0,
      kind === 'a transaction with another hash',
      `${kind}: refused, or the truth all the same`,
    )
    t.comment(`${kind}: ${JSON.stringify(outcomes)}`)
  }
})

void t.test('where receipts are refused, the kind says that they were not seen', async (t) => {
  const [place] = await targets()
  if (place === undefined) throw new Error('no log')
  const refused = new Refusal(-32601, 'the method does not exist')
  proxy.fault = lyingAnswers(['eth_getBlockReceipts', 'eth_getTransactionReceipt'], () => refused)
  t.match(await readBlock(place.target.hash), [{ check: 'bloom' }])
  proxy.fault = lyingAnswers(['eth_getBlockReceipts'], () => refused)
  t.same(await readBlock(place.target.hash), place.truth, 'receipts one by one prove as much')
})

void t.test(
  'receipts of a form of their own prove nothing where no rule is known, and are no lie',
  async (t) => {
    const [place] = await targets()
    if (place === undefined) throw new Error('no log')
    const [endpoint] = client.others()
    if (endpoint === undefined) throw new Error('one endpoint')
    proxy.fault = lyingAnswers(['eth_getBlockReceipts'], (result) =>
      (result as Json[]).map((receipt) => ({ ...receipt, type: '0xf0' })),
    )
    for (const known of [{ headers: true }, { headers: true, receipts: false }]) {
      const unknown = new ChainRules()
      unknown.believe(known)
      holdTo(unknown, [endpoint])
      t.match(await readBlock(place.target.hash), [{ check: 'bloom' }])
    }
    holdTo(rules, [endpoint])
    await t.rejects(readBlock(place.target.hash), BadAnswer)
  },
)

void t.test('a last transaction that the roots do not have, as on Polygon, is left out', async (t) => {
  const last = (list: unknown): Json => (list as Json[]).at(-1) ?? {}
  const [place] = await targets()
  if (place === undefined) throw new Error('no log')
  proxy.fault = lyingAnswers(['eth_getBlockReceipts', 'eth_getBlockByHash'], (result, { method, params }) => {
    if (method === 'eth_getBlockReceipts') return [...(result as Json[]), last(result)]
    const { transactions } = result as Json
    return params[1] === true
      ? { ...(result as Json), transactions: [...(transactions as Json[]), last(transactions)] }
      : undefined
  })
  t.same(await readBlock(place.target.hash), place.truth)
})

void t.test(
  'an endpoint that lies for a while is not followed, and is once it tells the truth',
  async (t) => {
    const places = (await targets()).slice(-20)
    const faults = Object.values(LIES).flatMap((make) =>
      places.map(({ target }) => telling(make(target), target.hash)),
    )
    const liar = await startProxy(t, chain.url)
    liar.fault = async (...asked) => {
      if (liar.faults >= 12) return null
      return (await faults[random.below(faults.length)]?.(...asked)) ?? null
    }
    const index = new StepIndex()
    await catchUp(chain, index, { network: chain.network({ rpcUrls: [liar.url], maxBlockRange: 8 }) })
    await sameAsNode(t, index, chain, 'after the lies')
    t.ok(liar.faults >= 3, `${liar.faults} lies`)
  },
)

void t.test('verify reads the truth where the logs of a range are lies', async (t) => {
  const readAll = async (
    fault: Fault,
    isProven: boolean,
  ): Promise<{ events: ChainEvent[]; checks: string[] }> => {
    const liar = await startProxy(t, chain.url, fault)
    const source = createEvmSource(chain.network({ rpcUrls: [liar.url], maxBlockRange: 8 }))
    t.teardown(() => source.close())
    const final = await source.finalized()
    const events: ChainEvent[] = []
    const checks = new Set<string>()
    const span = { from: 0, to: head, final, isProven }
    for await (const reading of readAgain(source, span, AbortSignal.timeout(60_000))) {
      events.push(...reading.events)
      for (const { check } of reading.evidence) checks.add(check)
    }
    return { events, checks: [...checks].sort() }
  }
  const truth = await readAll(() => null, false)
  const changed = lyingAnswers(['eth_getLogs'], (result) =>
    (result as Json[]).map((log) => ({ ...log, transactionHash: flipped(String(log['transactionHash'])) })),
  )
  const verified = await readAll(changed, true)
  t.same(verified.events, truth.events)
  t.same(verified.checks, ['bloom', 'receipts'])
})

void t.test('a kind is lowered only where no endpoint proves more, and then with a word', async (t) => {
  const refused = new Refusal(-32601, 'the method does not exist')
  const refusing = lyingAnswers(['eth_getBlockReceipts', 'eth_getTransactionReceipt'], () => refused)
  const poor = await startProxy(t, chain.url)
  for (const [urls, kind, warnings] of [
    [[poor.url, chain.url], 'receipts', 0],
    [[poor.url], 'bloom', 1],
  ] as const) {
    poor.fault = () => null
    const said: string[] = []
    const network = chain.network({ rpcUrls: [...urls] })
    const source = createEvmSource(network, { report: (_level, message) => said.push(message) })
    t.teardown(() => source.close())
    await source.check()
    source.believeRules?.({ headers: true, receipts: true, transactions: true })
    const [place] = await targets()
    if (place === undefined) throw new Error('no log')
    poor.fault = refusing
    const number = place.truth[0]?.logs[0]?.blockNumber ?? -1
    const { evidence } = await source.readBlocks(await source.headers(number, number))
    t.same(
      evidence.map(({ check }) => check),
      [kind],
    )
    t.equal(said.filter((line) => line.includes('of a weaker kind')).length, warnings, said.join('; '))
  }
})
