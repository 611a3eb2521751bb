import { readdirSync, statSync, truncateSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import * as z from 'zod'
import { contracts } from '../../../devnet/evm/artifacts.ts'
import { startAnvil, type Anvil } from '../../../devnet/evm/anvil.ts'
import { deployContracts } from '../../../devnet/evm/deploy.ts'
import { createPlayer } from '../../../devnet/evm/player.ts'
import { processIdentity } from '../../../devnet/evm/process-identity.ts'
import { anything, createRpc, hex, quantity } from '../../../devnet/evm/rpc.ts'

const block = z.object({ number: quantity, hash: hex, timestamp: quantity, parentHash: hex })

/** All that an indexer could have read: logs, block hashes, and every loan at every block by the block's hash. */
async function everything(url: string): Promise<{ head: z.infer<typeof block>; said: string[] }> {
  const rpc = createRpc(url)
  const { erc20Loans } = await deployContracts(url)
  const head = await rpc.call(block, 'eth_getBlockByNumber', 'latest', false)
  const numbers = Array.from({ length: head.number + 1 }, (_, number) => `0x${number.toString(16)}`)
  const blocks = await rpc.all(
    block,
    numbers.map((number) => ({ method: 'eth_getBlockByNumber', params: [number, false] })),
  )
  const filter = { fromBlock: '0x0', toBlock: numbers.at(-1) }
  const logs = await rpc.call(z.array(z.object({ transactionHash: hex, data: hex })), 'eth_getLogs', filter)
  const loans = await rpc.all(
    hex,
    blocks
      .filter(({ number }) => number > 1)
      .flatMap(({ hash }) =>
        [1, 2, 3].map((id) => {
          const data = contracts.erc20Loans.interface.encodeFunctionData('fetchLoan', [id])
          return { method: 'eth_call', params: [{ to: erc20Loans, data }, { blockHash: hash }] }
        }),
      ),
  )
  return { head, said: [...blocks, ...logs, ...loans].map((one) => JSON.stringify(one)) }
}

async function play(anvil: Anvil, seed: string): Promise<void> {
  const deployment = await deployContracts(anvil.url)
  await createPlayer({ rpcUrl: anvil.url, deployment, seed }).playLoans(16)
}

async function startOn(t: Test, statePath: string, notices: string[] = []): Promise<Anvil> {
  const anvil = await startAnvil({
    statePath,
    stateIntervalSeconds: 1,
    onNotice: (line) => notices.push(line),
  })
  t.teardown(() => anvil.stop())
  return anvil
}

/** Until a periodic save that began after now was finished and moved to safety. */
async function saved(statePath: string): Promise<void> {
  const now = Date.now()
  const fresh = (): boolean =>
    statSync(`${statePath}.good`, { throwIfNoEntry: false })?.mtimeMs !== undefined &&
    statSync(`${statePath}.good`).mtimeMs > now + 1100
  for (let waited = 0; waited < 60_000 && !fresh(); waited += 50) await sleep(50)
}

await t.test(
  'stopped and started again: logs, blocks and loans of old blocks are the same, time goes on',
  async (t) => {
    const statePath = join(t.testdir(), 'chain.json')
    const first = await startOn(t, statePath)
    await play(first, 'one')
    const before = await everything(first.url)
    t.ok(before.head.timestamp > Date.now() / 1000 + 60, 'the clock of the chain was moved')
    await first.stop()
    const second = await startOn(t, statePath)
    const after = await everything(second.url)
    t.same(after.said, before.said)
    t.ok(before.said.length > 50)
    await createRpc(second.url).call(anything, 'evm_mine')
    const next = await createRpc(second.url).call(block, 'eth_getBlockByNumber', 'latest', false)
    t.equal(next.parentHash, before.head.hash)
    t.ok(next.timestamp > before.head.timestamp, 'the next block is younger than its parent')
    await play(second, 'one')
  },
)

await t.test('started again and again: it is one chain from block 0 on', async (t) => {
  const statePath = join(t.testdir(), 'chain.json')
  const seen = new Set<string>()
  for (let start = 0; start < 5; start += 1) {
    // Block 0 would carry another second.
    if (start > 0) await sleep(1000)
    const anvil = await startOn(t, statePath)
    const rpc = createRpc(anvil.url)
    const zero = await rpc.call(block, 'eth_getBlockByNumber', '0x0', false)
    seen.add(zero.hash)
    await rpc.call(anything, 'evm_mine')
    const one = await rpc.call(block, 'eth_getBlockByNumber', '0x1', false)
    t.equal(one.parentHash, zero.hash)
    await anvil.stop()
  }
  t.equal(seen.size, 1)
})

await t.test('killed: what was saved a moment before is there', async (t) => {
  const statePath = join(t.testdir(), 'chain.json')
  const first = await startOn(t, statePath)
  await play(first, 'one')
  const before = await everything(first.url)
  await saved(statePath)
  process.kill(first.pid, 'SIGKILL')
  t.equal(await first.exited, 'signal SIGKILL')
  const notices: string[] = []
  const second = await startOn(t, statePath, notices)
  t.same((await everything(second.url)).said, before.said)
  t.same(notices, [])
})

await t.test('a save that was cut off: the one before it counts', async (t) => {
  const statePath = join(t.testdir(), 'chain.json')
  const first = await startOn(t, statePath)
  await play(first, 'one')
  const before = await everything(first.url)
  await saved(statePath)
  await first.stop()
  truncateSync(statePath, Math.floor(statSync(statePath).size / 2))
  const second = await startOn(t, statePath)
  t.same((await everything(second.url)).said, before.said)
})

await t.test('nothing usable: it says so, keeps the remains and starts a new chain', async (t) => {
  const statePath = join(t.testdir(), 'chain.json')
  writeFileSync(statePath, '{"block":{}}')
  const notices: string[] = []
  const anvil = await startOn(t, statePath, notices)
  t.match(notices, [/unusable and was put aside/, /starting a new one/])
  t.ok(readdirSync(join(statePath, '..')).includes('chain.json.unusable'))
  t.equal(await createRpc(anvil.url).call(quantity, 'eth_blockNumber'), 0)
})

await t.test('deploying twice changes nothing', async (t) => {
  const anvil = await startAnvil()
  t.teardown(() => anvil.stop())
  const [first, height] = [await deployContracts(anvil.url), createRpc(anvil.url)]
  const blocks = await height.call(quantity, 'eth_blockNumber')
  t.same(await deployContracts(anvil.url), first)
  t.equal(await height.call(quantity, 'eth_blockNumber'), blocks)
})

await t.test('a port in use is told before anything is started', async (t) => {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => server.close())
  const address = server.address()
  const port = typeof address === 'object' && address !== null ? address.port : 0
  await t.rejects(startAnvil({ port }), { code: 'EADDRINUSE', port })
})

await t.test('history is bounded where it is asked to be: logs stay, states go', async (t) => {
  const anvil = await startAnvil({ historyBlocks: 20 })
  t.teardown(() => anvil.stop())
  await deployContracts(anvil.url)
  const rpc = createRpc(anvil.url)
  await rpc.call(anything, 'anvil_mine', '0x28')
  const { accounts } = await deployContracts(anvil.url)
  const balanceAt = (number: string) => rpc.call(hex, 'eth_getBalance', accounts[0], number)
  await t.resolves(balanceAt('0x20'))
  await t.rejects(balanceAt('0x2'), { message: /BlockOutOfRange/ })
  const logs = await rpc.call(z.array(anything), 'eth_getLogs', { fromBlock: '0x1', toBlock: '0x2' })
  t.ok(logs.length > 0)
  const finalized = await rpc.call(block, 'eth_getBlockByNumber', 'finalized', false)
  const head = await rpc.call(quantity, 'eth_blockNumber')
  t.equal(finalized.number, Math.max(0, head - 64))
})

await t.test('identities of processes', (t) => {
  t.type(processIdentity(process.pid), 'string')
  t.equal(processIdentity(2 ** 30), undefined)
  t.end()
})
