import { fork, type ChildProcess } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { createFilecoinSource } from '../indexer/sources/filecoin/filecoin-source.ts'
import { followChain } from '../indexer/sources/follow-chain.ts'
import type { FilecoinNetwork } from '../shared/config/networks.ts'
import { startCannedLotus, TIPSETS_PER_CHANNEL } from './canned-lotus.ts'
import { machineFacts, mebibytes } from './measure.ts'

/** As the source reads: two calls for a tipset's messages, one for its height. */
const TIPSETS_PER_REQUEST = 50
const PARALLEL = 4

/** Tipsets per second of the source and of its requests alone, against a node that answers at once. */
export async function benchLotus(tipsets: number): Promise<void> {
  console.log(machineFacts())
  console.log(`
| messages per tipset | tipsets | source, tipsets/s | fetch and parse only, tipsets/s | peak heap MiB |
|---|---|---|---|---|`)
  for (const messages of [0, 20, 300]) {
    const count = messages === 300 ? Math.ceil(tipsets / 20) : tipsets
    const node = await startNode(count, messages)
    try {
      const limit = count / (await seconds(() => fetchAndParse(node.url, count, messages)))
      let peak = 0
      const source = await seconds(async () => {
        peak = await readAll(node.url, count, () => undefined)
      })
      console.log(
        `| ${messages} | ${count} | ${(count / source).toFixed(0)} | ${limit.toFixed(0)} | ${mebibytes(peak)} |`,
      )
    } finally {
      node.child.kill()
    }
  }
}

/** Memory while that many tipsets are read. */
export async function benchLotusMemory(tipsets: number): Promise<void> {
  console.log(machineFacts())
  const node = await startNode(tipsets, 20)
  try {
    console.log('\n| tipsets | seconds | heap MiB | resident MiB |\n|---|---|---|---|')
    const started = performance.now()
    let next = tipsets / 10
    await readAll(node.url, tipsets, (height) => {
      if (height < next) return
      next += tipsets / 10
      const { heapUsed, rss } = process.memoryUsage()
      const elapsed = ((performance.now() - started) / 1000).toFixed(1)
      console.log(`| ${height} | ${elapsed} | ${mebibytes(heapUsed)} | ${mebibytes(rss)} |`)
    })
  } finally {
    node.child.kill()
  }
}

/** The program that {@link startNode} runs: a node in a process of its own, so that it is not what is measured. */
export async function serveCannedLotus(tipsets: number, messages: number): Promise<void> {
  const url = await startCannedLotus(tipsets, messages)
  process.on('disconnect', () => process.exit())
  process.send?.(url)
}

async function startNode(tipsets: number, messages: number): Promise<{ url: string; child: ChildProcess }> {
  const main = fileURLToPath(new URL('./main.ts', import.meta.url))
  const child = fork(main, ['canned-lotus', String(tipsets), String(messages)], {
    execArgv: ['--import', 'tsx', '--no-warnings'],
  })
  const url = await new Promise<string>((resolve, reject) => {
    child.once('message', (message) => resolve(typeof message === 'string' ? message : ''))
    child.once('exit', (code) => reject(new Error(`the node ended with code ${code ?? 'none'}`)))
  })
  return { url, child }
}

/** All final tipsets as steps; the most memory that was in use. */
async function readAll(url: string, tipsets: number, onHeight: (height: number) => void): Promise<number> {
  const network: FilecoinNetwork = {
    networkId: 'testnet',
    rpcUrls: [url],
    token: null,
    startEpoch: 0,
    confidence: 0,
    pollIntervalMs: 60_000,
    readVoucherStore: false,
  }
  const source = createFilecoinSource(network)
  const stop = new AbortController()
  let events = 0
  let peak = 0
  const resume = { position: null, headers: [], finalized: null }
  for await (const step of followChain(source, resume, { signal: stop.signal })) {
    if (step.type === 'finalized') continue
    events += step.events.length
    peak = Math.max(peak, process.memoryUsage().heapUsed)
    onHeight(step.to.number)
    if (step.to.number >= tipsets) break
  }
  await source.close()
  if (events < Math.floor(tipsets / TIPSETS_PER_CHANNEL)) throw new Error(`only ${events} events`)
  return peak
}

/** The same answers, asked for and parsed as fast as it goes, and thrown away. */
async function fetchAndParse(url: string, tipsets: number, messages: number): Promise<void> {
  const perRequest = messages > 60 ? Math.ceil(3_000 / messages) : TIPSETS_PER_REQUEST
  let next = 0
  const worker = async (): Promise<void> => {
    while (next < tipsets) {
      const from = next
      next += perRequest
      const heights = Array.from({ length: perRequest }, (_, index) => from + index)
      const found = await ask(
        url,
        heights.map((height) => ({ method: 'ChainGetTipSetByHeight', params: [height, []] })),
      )
      await ask(
        url,
        found.flatMap(({ result }) =>
          ['ChainGetParentMessages', 'ChainGetParentReceipts'].map((method) => ({
            method,
            params: [result.Cids[0]],
          })),
        ),
      )
    }
  }
  await Promise.all(Array.from({ length: PARALLEL }, worker))
}

type Answer = { result: { Cids: unknown[] } }

async function ask(url: string, calls: { method: string; params: unknown[] }[]): Promise<Answer[]> {
  const body = calls.map((call, id) => ({ jsonrpc: '2.0', id, ...call, method: `Filecoin.${call.method}` }))
  const response = await fetch(url, { method: 'POST', body: JSON.stringify(body) })
  return JSON.parse(await response.text()) as Answer[]
}

async function seconds(work: () => Promise<void>): Promise<number> {
  const started = performance.now()
  await work()
  return (performance.now() - started) / 1000
}
