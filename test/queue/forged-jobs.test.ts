import { randomUUID } from 'node:crypto'
import { deflateRawSync } from 'node:zlib'
import t from 'tap'
import { startAnvil } from '../../devnet/evm/anvil.ts'
import { deployContracts } from '../../devnet/evm/deploy.ts'
import { createPlayer } from '../../devnet/evm/player.ts'
import { getQueueKey } from '../../indexer/event-log/queue-key.store.ts'
import { sealJob } from '../../indexer/queue/envelope.ts'
import { encodeStep } from '../../indexer/queue/join-steps.ts'
import { jobsOf } from '../../indexer/queue/step-jobs.ts'
import { stepQueueName } from '../../indexer/queue/step-queue.ts'
import type { Db } from '../../shared/db/connect.ts'
import type { ChainEvent } from '../../shared/events/chain-event.ts'
import type { ChainStep } from '../../shared/events/chain-step.ts'
import { postgresTenant, redisTenant } from '../helpers/co-tenant.ts'
import { compareWithChain } from '../helpers/compare-with-chain.ts'
import { testDatabase } from '../helpers/database.ts'
import { deadLetters } from '../helpers/handed-in.ts'
import { indexerProcess, untilSynced } from '../helpers/indexer-process.ts'
import { eventually } from '../helpers/programs.ts'
import { queueKinds } from '../helpers/queue-kinds.ts'
import { testRedis } from '../helpers/redis.ts'

t.setTimeout(400_000)

const NETWORK = 'evm:31337'
const FALSE_LOAN = '424242'

for (const kind of queueKinds) {
  void t.test(`on ${kind}, nobody without the key changes or stops what is indexed`, async (t) => {
    const { url: databaseUrl, db } = await testDatabase(t)
    const redisUrl = kind === 'redis' ? await testRedis(t) : undefined
    if (redisUrl === null) return
    const anvil = await startAnvil({ port: 0 })
    t.teardown(() => anvil.stop())
    const deployment = await deployContracts(anvil.url)
    const player = createPlayer({ rpcUrl: anvil.url, deployment, seed: 4 })
    const network = {
      ...{ blockchain: 'DEVNET', networkId: '31337', rpcUrls: [anvil.url], pollIntervalMs: 50 },
      erc20Loans: { address: deployment.erc20Loans },
      erc20CollateralLock: { address: deployment.erc20CollateralLock },
    }
    const indexer = await indexerProcess(t, {
      ...{ databaseUrl, redisUrl: redisUrl ?? null, networks: { evm: [network] } },
    })
    indexer.start()
    await player.playLoans(3)
    await untilSynced(db, anvil.url, indexer)
    const queueName = stepQueueName(NETWORK)
    const tenant =
      redisUrl === undefined
        ? await postgresTenant(t, db, databaseUrl, queueName)
        : redisTenant(t, redisUrl, queueName)
    const before = await positionOf(db)

    const jobs = await forgedJobs(db, anvil.url)
    for (const job of jobs) await tenant.add(job, { jobId: randomUUID() })
    // The ids of the jobs to come, as far as others can know them: BullMQ ignores a job whose id is taken.
    const taken = 40
    for (let sequence = 1; sequence <= taken; sequence += 1) {
      await tenant.add({ taken: sequence }, { jobId: `epoch-${before.reader_epoch}-${sequence}-1` })
    }
    await player.playLoans(3)
    await untilSynced(db, anvil.url, indexer)
    const sent = jobs.length + taken
    await eventually('all are dead letters', async () => {
      const letters = await deadLetters(db)
      return letters.reduce((sum, { attempts }) => sum + attempts, 0) >= sent
    })
    t.ok(
      (await deadLetters(db)).every(
        ({ queue, reason }) => queue === queueName && /^not a job of/.test(reason),
      ),
    )
    t.match(await positionOf(db), epochsOf(before), 'the sessions went on')
    const metrics = await (await fetch(`${indexer.url}/metrics`)).text()
    t.match(metrics, `loan_activity_refused_jobs_total{network="${NETWORK}"} ${sent}`)
    t.equal((await fetch(`${indexer.url}/readyz`)).status, 200)
    const loans = await db.selectFrom('projection.loans').select('loan_id').execute()
    t.ok(loans.length > 0)
    t.notOk(loans.some(({ loan_id: id }) => id === FALSE_LOAN))
    t.same((await compareWithChain(db, anvil.url, deployment)).differences, [])

    // Jobs that others remove are missed, and their blocks read again.
    const removing = new AbortController()
    const removed = (async () => {
      while (!removing.signal.aborted) await tenant.queue.drain(true).catch(() => undefined)
    })()
    await player.playLoans(3)
    removing.abort()
    await removed
    await untilSynced(db, anvil.url, indexer)
    // A queue that others paused goes on as well.
    await tenant.queue.pause()
    await tenant.queue.setGlobalConcurrency(0)
    await player.playLoans(1)
    await untilSynced(db, anvil.url, indexer)
    t.same((await compareWithChain(db, anvil.url, deployment)).differences, [])
    t.equal(await indexer.stop(), 0)
  })
}

interface Position {
  number: number
  hash: string
  writer_epoch: number
  reader_epoch: number
}

function epochsOf({ writer_epoch, reader_epoch }: Position): Partial<Position> {
  return { writer_epoch, reader_epoch }
}

async function positionOf(db: Db): Promise<Position> {
  const position = await db.selectFrom('ledger.chain_position').selectAll().executeTakeFirstOrThrow()
  if (position.number === null || position.hash === null) throw new Error('nothing is indexed')
  return { ...position, number: position.number, hash: position.hash }
}

/** Steps of each type in each form that a job ever had, signed by others or by nobody, and data that are no job at all. */
async function forgedJobs(db: Db, rpcUrl: string): Promise<unknown[]> {
  const { number, hash, reader_epoch: readerEpoch } = await positionOf(db)
  const block = await blockAt(rpcUrl, number)
  const invented = `0x${'ab'.repeat(32)}`
  const timeS = Math.floor(Date.now() / 1000)
  const at = (to: number, toHash: string, parentHash: string) => ({
    to: { number: to, hash: toHash, timeS },
    headers: [{ number: to, hash: toHash, parentHash, timeS }],
    events: [falseOffer(to, toHash, timeS)],
    evidence: [{ from: to, to, endpoint: 'http://x', check: 'one' as const }],
  })
  const after = { number, hash }
  const steps: ChainStep[] = [
    { type: 'blocks', from: number + 1, after, ...at(number + 1, invented, hash) },
    {
      type: 'reorg',
      ancestor: { number: number - 1, hash: block.parentHash },
      replaces: after,
      ...at(number, invented, block.parentHash),
    },
    { type: 'finalized', block: { number, hash: invented } },
    { type: 'finalized', block: after },
  ]
  const secret = Buffer.from(await getQueueKey(db))
  const anothers = new Uint8Array(32).fill(1)
  const jobs: unknown[] = [
    null,
    'text',
    7,
    [],
    {},
    { mac: '' },
    JSON.parse(`${'['.repeat(500)}${']'.repeat(500)}`),
  ]
  for (const [index, step] of steps.entries()) {
    const sequence = 987_654_321 + index
    const [content] = await jobsOf({ readerEpoch, sequence }, encodeStep(step))
    if (content === undefined) throw new Error('no job')
    const payload = deflateRawSync(JSON.stringify(step)).toString('base64')
    const others = sealJob({ network: NETWORK, secret }, { ...content, sequence: sequence + 1 })
    jobs.push(
      { readerEpoch, sequence, step: payload },
      { v: 2, network: NETWORK, ...content, mac: '' },
      sealJob({ network: NETWORK, secret: anothers }, content),
      // A true job of another network.
      sealJob({ network: 'evm:1', secret }, content),
      { ...sealJob({ network: 'evm:1', secret }, content), network: NETWORK },
      // Another step under a true signature.
      {
        ...sealJob({ network: NETWORK, secret }, content),
        step: { type: 'finalized', block: { number: 0, hash } },
      },
      { ...others, step: content.step, sequence },
      // A later reader's job must not end this one.
      sealJob({ network: NETWORK, secret: anothers }, { ...content, readerEpoch: readerEpoch + 1 }),
    )
  }
  return jobs
}

function falseOffer(blockNumber: number, blockHash: string, blockTimeS: number): ChainEvent {
  const [lender, token] = [`0x${'00'.repeat(19)}b1`, `0x${'00'.repeat(19)}aa`]
  return {
    ...{ contract: `0x${'11'.repeat(20)}`, role: 'erc20Loans' as const, kind: 'CreateLoanOffer' as const },
    ...{ loanId: FALSE_LOAN, contractLoanId: FALSE_LOAN, tokenDecimals: 6 },
    ...{ blockNumber, blockHash, blockTimeS, logIndex: 0, txLogIndex: 0, txHash: `0x${'cd'.repeat(32)}` },
    args: { lender, principal: '1500000', token },
    terms: {
      values: {
        ...{ secretHashB1: `0x${'b1'.repeat(32)}`, filLender: '0x7431' },
        ...{ interest: '7', loanExpirationPeriod: '60' },
      },
    },
  }
}

async function blockAt(rpcUrl: string, number: number): Promise<{ parentHash: string }> {
  const response = await fetch(rpcUrl, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({
      ...{ jsonrpc: '2.0', id: 1, method: 'eth_getBlockByNumber' },
      params: [`0x${number.toString(16)}`, false],
    }),
  })
  return ((await response.json()) as { result: { parentHash: string } }).result
}
