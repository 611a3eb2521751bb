import t from 'tap'
import type { Test } from 'tap'
import { createEvmSource } from '../../../indexer/sources/evm/evm-source.ts'
import { PermanentError, RetryableError } from '../../../shared/errors.ts'
import { seededRandom } from '../../helpers/random-chain.ts'
import { catchUp } from './catch-up.ts'
import { chanceOf, everyFault, FAULTS, logsChanged, SLOW_FAULTS, type MakeFault } from './faults.ts'
import { startProxy, type Fault } from './faulty-proxy.ts'
import { Player, startLittleChain, type LittleChain } from './little-chain.ts'
import { sameAsNode, StepIndex } from './step-index.ts'

const seed = Number(process.env['SEED'] ?? Date.now() % 1_000_000)
t.comment(`SEED=${seed}`)

async function startLivelyChain(t: Test): Promise<LittleChain> {
  const chain = await startLittleChain(t, { slotsInAnEpoch: 4 })
  const player = new Player(chain, seed)
  const random = seededRandom(seed)
  for (let block = 0; block < 32; block += 1) {
    await player.play(random.below(4))
    await chain.mine()
  }
  return chain
}

void t.test('whatever one endpoint does, the index is the chain', async (t) => {
  const chain = await startLivelyChain(t)
  const stop = new AbortController()
  t.teardown(() => stop.abort())
  const suffer = async (name: string, make: MakeFault): Promise<void> => {
    const index = new StepIndex()
    const proxy = await startProxy(t, chain.url)
    proxy.fault = make(chanceOf(seed, name, proxy))
    const network = chain.network({ rpcUrls: [proxy.url], maxBlockRange: 50 })
    const start = Date.now()
    const requestTimeoutMs = name in SLOW_FAULTS ? 1_000 : 10_000
    await catchUp(chain, index, { network, requestTimeoutMs, signal: stop.signal })
    await sameAsNode(t, index, chain, name)
    t.comment(`${name}: ${proxy.faults} of ${proxy.requests} requests, ${Date.now() - start} ms`)
    t.ok(proxy.faults > 0, `${name}: it happened`)
  }
  const faults = Object.entries({ ...FAULTS, ...SLOW_FAULTS, 'all of it': everyFault })
  while (faults.length > 0) await Promise.all(faults.splice(0, 6).map(([name, make]) => suffer(name, make)))
})

void t.test('an endpoint that leaves any log out is found out by the other', async (t) => {
  const chain = await startLivelyChain(t)
  const leaky = await startProxy(t, chain.url)
  leaky.fault = logsChanged(0.5, (logs, { blockHash }, below) => {
    const gone = below(logs.length)
    return blockHash === undefined ? logs.filter((_, at) => at !== gone) : []
  })(chanceOf(seed, 'leaky', leaky))
  const index = new StepIndex()
  const network = chain.network({ rpcUrls: [leaky.url, chain.url], maxBlockRange: 50 })
  const stop = new AbortController()
  t.teardown(() => stop.abort())
  await catchUp(chain, index, { network, signal: stop.signal })
  await sameAsNode(t, index, chain, 'a leaky endpoint first')
  t.ok(leaky.faults > 0)
  t.ok(
    index.evidence.every(({ check }) => check !== 'unchecked'),
    'nothing went unchecked',
  )

  const honest = await startProxy(t, chain.url)
  const agreed = new StepIndex()
  await catchUp(chain, agreed, {
    network: chain.network({ rpcUrls: [honest.url, chain.url], maxBlockRange: 50 }),
  })
  await sameAsNode(t, agreed, chain, 'two honest endpoints')
  const backfill = agreed.evidence.filter(({ to }) => to <= (agreed.finalized?.number ?? 0))
  t.ok(backfill.length > 0)
  t.ok(
    backfill.every(({ check }) => check === 'second-endpoint'),
    'every final range was compared',
  )
})

void t.test('an endpoint of another chain is never used', async (t) => {
  const chain = await startLivelyChain(t)
  const foreign = await startProxy(t, chain.url, async (requests, truth) =>
    requests[0]?.method === 'eth_chainId'
      ? (await truth()).map((answer) => ({ ...answer, result: '0x1' }))
      : null,
  )
  const said: string[] = []
  const index = new StepIndex()
  await catchUp(chain, index, {
    network: chain.network({ rpcUrls: [foreign.url, chain.url] }),
    report: (_, message) => said.push(message),
  })
  await sameAsNode(t, index, chain, 'an endpoint of another chain')
  t.match(said, [/never asked again: chain id 1, expected 31337/])
  t.equal(foreign.requests, 1, 'nothing but its chain id was asked')
})

void t.test('an endpoint without the contracts is put aside while another has them', async (t) => {
  const chain = await startLittleChain(t)
  const codeless: Fault = async (requests, truth) =>
    requests[0]?.method === 'eth_getCode'
      ? (await truth()).map((answer) => ({ ...answer, result: '0x' }))
      : null
  const behind = await startProxy(t, chain.url, codeless)
  const said: string[] = []
  const check = async (...rpcUrls: string[]): Promise<void> => {
    const source = createEvmSource(chain.network({ rpcUrls }), { report: (_, message) => said.push(message) })
    await source.check().finally(() => source.close())
  }
  await check(behind.url, chain.url)
  t.match(said.join(), new RegExp(`${behind.url} is put aside for .*: no code at ${chain.loans}`, 'i'))
  const alsoBehind = await startProxy(t, chain.url, codeless)
  await t.rejects(check(behind.url, alsoBehind.url), PermanentError, 'all of them say so')
  const broken = await startProxy(t, chain.url, (requests) =>
    requests[0]?.method === 'eth_getCode'
      ? { body: JSON.stringify({ id: requests[0].id, error: { code: -32603, message: 'internal error' } }) }
      : null,
  )
  await t.rejects(check(behind.url, broken.url), RetryableError, 'the other may know better')
})

void t.test('what is wrong is said in one line, without the token', async (t) => {
  const chain = await startLittleChain(t)
  const check = async (changes: Parameters<typeof chain.network>[0]): Promise<unknown> => {
    const source = createEvmSource(chain.network(changes))
    const start = Date.now()
    const error: unknown = await source.check().then(
      () => null,
      (reason: unknown) => reason,
    )
    t.ok(Date.now() - start < 11_000, 'soon')
    await source.close()
    return error
  }
  const silent = await startProxy(t, chain.url, () => 'hang')
  const unanswered = check({ rpcUrls: [silent.url] })
  t.equal(await check({}), null)
  const wrong = await check({ networkId: '5' })
  t.type(wrong, PermanentError)
  t.match(String(wrong), /wrong chain id: expected 5, found 31337 at http:\/\/127/)
  const nobody = `0x${'12'.repeat(20)}`
  const empty = await check({ erc20Loans: { address: nobody, startBlock: 0, idPrefix: null } })
  t.type(empty, PermanentError)
  t.match(String(empty), /no code at 0x12121212.* \(erc20Loans\) on chain 31337/)
  const token = 'https-token-0123456789'
  const away = await check({ rpcUrls: [`http://user:${token}@127.0.0.1:4/v3/${token}?key=${token}`] })
  t.type(away, RetryableError)
  t.match(String(away), /http:\/\/127\.0\.0\.1:4: ECONNREFUSED/)
  t.notMatch(String(away), token)
  const talkative = await startProxy(t, chain.url, (requests) => ({
    body: JSON.stringify({
      id: requests[0]?.id,
      error: { code: -32000, message: `project ${token} is not allowed` },
    }),
  }))
  const told = await check({ rpcUrls: [`${talkative.url}/v3/${token}`] })
  t.type(told, RetryableError)
  t.match(String(told), /project \*\*\* is not allowed/)
  t.match(String(await unanswered), /no endpoint answered within 10000 ms/)
})
