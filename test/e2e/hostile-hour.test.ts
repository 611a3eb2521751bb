import { execFileSync } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { sql } from 'kysely'
import t, { type Test } from 'tap'
import * as z from 'zod'
import { startAnvil } from '../../devnet/evm/anvil.ts'
import { contracts } from '../../devnet/evm/artifacts.ts'
import { deployContracts } from '../../devnet/evm/deploy.ts'
import { bytesText, channelIdBytes, secretHash } from '../../devnet/evm/loan-texts.ts'
import { createPlayer } from '../../devnet/evm/player.ts'
import { createRpc, hex, quantity } from '../../devnet/evm/rpc.ts'
import {
  createChannel,
  createdChannel,
  fundChannel,
  INIT_ACTOR,
  redeem,
  settle,
  signVoucher,
  toAddress,
} from '../../devnet/filecoin/channel-actions.ts'
import { startLotus, type Wallet } from '../../devnet/filecoin/lotus.ts'
import { createChainView } from '../../devnet/loans/chain-view.ts'
import { channelStories, type ChannelStory } from '../../devnet/loans/expected-records.ts'
import { walletAddress } from '../../devnet/loans/cast.ts'
import { createLotusRpc } from '../../devnet/loans/lotus-rpc.ts'
import { madeLoans } from '../../devnet/loans/made-loans.ts'
import { voucherOutbox } from '../../devnet/loans/voucher-outbox.ts'
import { openQueueBackend } from '../../indexer/open-queue-backend.ts'
import { addVoucher, openVoucherQueue } from '../../indexer/queue/voucher-queue.ts'
import { historyAnswer } from '../../api/schemas/activity.ts'
import { erc20LoanAnswer, filLoanAnswer } from '../../api/schemas/loan.ts'
import { statusAnswer } from '../../api/schemas/status.ts'
import { startProxy } from '../chain/sources/faulty-proxy.ts'
import { testApi } from '../helpers/api.ts'
import { compareChannels, type Stage } from '../helpers/compare-channels.ts'
import { compareWithChain } from '../helpers/compare-with-chain.ts'
import {
  HOSTILE_TEXTS,
  hostileExecs,
  hostileStoredVouchers,
  hostileUpdates,
  hostileVouchers,
} from '../helpers/hostile-filecoin.ts'
import { indexerProcess } from '../helpers/indexer-process.ts'
import { lyingNode, type Lies } from '../helpers/lying-node.ts'
import { runOps } from '../helpers/run-ops.ts'
import { untilBothSynced } from '../helpers/until-both-synced.ts'

/**
 * Honest loans are lived across both chains while somebody does whatever can be done: on the chains, through a node
 * that lies, on the voucher queue and in the node's store. Afterwards the honest loans are shown exactly, everything
 * refused is told with its reason, and the indexer is the process that it was.
 */

t.setTimeout(1_200_000)

const TOP_UPS = Number(process.env['TOP_UPS'] ?? 3000)
const SEED = process.env['SEED'] ?? '7'
const SETTLE_DELAY = 5
const EPOCH_S = 2
const MOST_RESIDENT_MIB = 512
const PLENTY = 10n ** 24n
/** Room for a megabyte of parameters. */
const GAS = { gasLimit: 3_000_000_000n }

async function playground(t: Test) {
  const anvil = await startAnvil()
  t.teardown(() => anvil.stop())
  const deployment = await deployContracts(anvil.url)
  const lotus = await startLotus({
    ...{ tickMs: null, epochDurationS: EPOCH_S, settleDelayEpochs: SETTLE_DELAY, seed: SEED },
    finalityEpochs: 10,
  })
  t.teardown(() => lotus.stop())
  const lies: Lies = { succeeds: new Set(), vouchers: new Map(), told: 0 }
  const proxy = await startProxy(t, lotus.url, lyingNode(lies))
  const outbox = voucherOutbox(join(t.testdir(), 'vouchers.jsonl'), 'testnet')
  const player = createPlayer({
    ...{ rpcUrl: anvil.url, deployment, seed: SEED, hostility: 0 },
    filecoin: {
      ...{ lotus, settleDelayEpochs: SETTLE_DELAY, epochDurationS: EPOCH_S, confidence: 12 },
      handIn: (voucher) => outbox.put(voucher),
    },
  })
  // The same accounts: these two never play at the same time.
  const vandal = createPlayer({ rpcUrl: anvil.url, deployment, seed: `${SEED}/vandal`, hostility: 1 })
  const evm = {
    ...{ blockchain: 'DEVNET', networkId: '31337', rpcUrls: [anvil.url], pollIntervalMs: 50 },
    erc20Loans: { address: deployment.erc20Loans },
    erc20CollateralLock: { address: deployment.erc20CollateralLock },
  }
  const filecoin = { networkId: 'testnet', rpcUrls: [proxy.url], pollIntervalMs: 50 }
  const networks = { evm: [evm], filecoin: [filecoin] }
  return { anvil, deployment, lotus, lies, proxy, player, vandal, outbox, networks }
}

type Ground = Awaited<ReturnType<typeof playground>>

/** The honest channels, as the chain and the player's diary tell them. */
async function honestStories({ anvil, deployment, lotus, player }: Ground): Promise<ChannelStory[]> {
  const view = createChainView(createLotusRpc(lotus.url))
  await view.refresh()
  return channelStories(player.lives, await madeLoans(createRpc(anvil.url), deployment), view)
}

async function villain(
  { lotus }: Ground,
  name: string,
  kind: 'secp256k1' | 'bls' = 'secp256k1',
): Promise<Wallet> {
  const wallet = await lotus.chain.createWallet(kind, name)
  await lotus.chain.fund(wallet.address, PLENTY)
  await lotus.chain.mine(3)
  return wallet
}

async function openChannel(
  { lotus }: Ground,
  by: Wallet,
  from: string,
  to: string,
): Promise<{ robust: string; id: string; cid: string }> {
  const cid = await createChannel(by, from, to, 1000n)
  await lotus.chain.mine(2)
  return { cid, ...createdChannel(await lotus.chain.waitFor(cid), lotus.chain.letter) }
}

/** Makes an ERC20 loan by hand and has it approved: every text in it is the caller's. */
async function hostileLoan(
  { anvil, deployment }: Ground,
  texts: { filLender: Uint8Array; filBorrower: Uint8Array; hashA1: string; channel: string },
): Promise<string> {
  const rpc = createRpc(anvil.url)
  const { interface: abi } = contracts.erc20Loans
  const [, lender = '', borrower = ''] = deployment.accounts
  const send = async (method: string, args: unknown[]): Promise<string> => {
    const transaction = {
      from: lender,
      to: deployment.erc20Loans,
      data: abi.encodeFunctionData(method, args),
    }
    const hash = await rpc.call(hex, 'eth_sendTransaction', { ...transaction, gas: '0x5b8d80' })
    const mined = z.object({ status: quantity, logs: z.array(z.object({ topics: z.array(hex), data: hex })) })
    for (;;) {
      const receipt = await rpc.call(mined.nullable(), 'eth_getTransactionReceipt', hash)
      if (receipt === null) continue
      if (receipt.status !== 1) throw new Error(`${method} failed`)
      const event = receipt.logs.flatMap((log) => abi.parseLog(log) ?? []).at(-1)
      return String(event?.args['loanId'])
    }
  }
  const hashB1 = secretHash(crypto.getRandomValues(new Uint8Array(32)))
  const { filLender, filBorrower, hashA1, channel } = texts
  const loanId = await send('createLoanOffer', [hashB1, filLender, 1000n, 10n, deployment.tokens.six, 3600n])
  await send('approveRequest', [loanId, borrower, filBorrower, hashA1, channel, 10n ** 18n])
  return loanId
}

const textBytes = (text: string): Uint8Array => new TextEncoder().encode(text)

/** MiB; this is Linux and macOS alike. */
function residentMiB(pid: number): number {
  return Math.round(Number(execFileSync('ps', ['-o', 'rss=', '-p', String(pid)]).toString()) / 1024)
}

void t.test(`a hostile hour, seed ${SEED}`, { timeout: 1_190_000 }, async (t) => {
  const ground = await playground(t)
  const { anvil, deployment, lotus, lies, player, vandal, outbox, networks } = ground
  const { chain } = lotus
  const api = await testApi(t)
  const indexer = await indexerProcess(t, { databaseUrl: api.url, networks })
  const ops = (...args: string[]) => runOps(t, { databaseUrl: api.url, networks }, ...args)
  const began = performance.now()
  const tell = (what: string): void =>
    t.comment(`${((performance.now() - began) / 1000).toFixed(0)} s: ${what}`)
  const urls = { evmUrl: anvil.url, lotusUrl: lotus.url }
  const synced = (): Promise<void> => untilBothSynced(api.db, urls, indexer)

  await player.playLoans(16)
  const liar = await villain(ground, 'liar')
  const accomplice = await villain(ground, 'accomplice', 'bls')
  const own = await openChannel(ground, liar, liar.address, accomplice.address)
  lies.succeeds.add(liar.address)
  lies.vouchers.set(own.robust, hostileStoredVouchers(own.robust))
  indexer.start()
  await synced()
  const { pid } = indexer
  tell(`16 honest loans are indexed, ${residentMiB(pid)} MiB`)

  const forwarding = new AbortController()
  const forwarded = outbox.forward(
    { databaseUrl: api.url, redisUrl: undefined },
    join(t.testdirName, 'sent'),
    forwarding.signal,
  )
  t.teardown(async () => {
    forwarding.abort()
    await forwarded
  })

  // Messages that say nothing, to a channel of the liar's own and to an honest one, and channels made of nothing.
  const stories = await honestStories(ground)
  const honest = stories.find(({ role, life }) => role === 'collateral' && life.plan === 'repay')
  if (honest === undefined) throw new Error('no honest loan has a channel')
  const wrong = new Map<string, string>()
  for (const [what, params] of Object.entries(hostileUpdates(own.robust))) {
    for (const to of [own.robust, own.id, honest.robust]) {
      if (to !== own.robust && params.length > 100_000) continue
      wrong.set(await liar.send({ to: toAddress(to), method: 2n, params, ...GAS }), what)
    }
  }
  for (const [what, params] of Object.entries(hostileExecs()))
    wrong.set(await liar.send({ to: INIT_ACTOR, method: 2n, params, ...GAS }), what)
  await liar.send({ to: toAddress(accomplice.address), method: 2n, params: Uint8Array.of(0xff), ...GAS })
  await liar.send({ to: toAddress(own.robust), method: 3n, params: Uint8Array.of(0xff), ...GAS })
  await chain.mine(4)
  await player.playLoans(4)
  await vandal.playLoans(12)
  await synced()
  tell(`${wrong.size} hostile messages, ${lies.told} lies, ${residentMiB(pid)} MiB`)

  await t.test('what does not decode is in the log, with the reason and not with its length', async (t) => {
    const rows = await api.db
      .selectFrom('ledger.event_log')
      .select('body')
      .where('kind', '=', 'UndecodableMessage')
      .execute()
    const logged = new Map(
      rows.flatMap(({ body }) => (body?.kind === 'UndecodableMessage' ? [[body.txHash, body]] : [])),
    )
    for (const [cid, what] of wrong) {
      const event = logged.get(cid)
      t.ok((event?.reason.length ?? 0) > 3, `${what}: ${event?.reason ?? 'not logged'}`)
      t.ok((event?.paramsHead.length ?? 0) <= 514)
    }
    t.equal(logged.size, wrong.size, 'and nothing else')
  })

  // The liar's own channel: all that the actor itself takes. It is of a loan, so that it is shown.
  const secret = HOSTILE_TEXTS['256 bytes'] ?? new Uint8Array()
  const loanOfLiar = await hostileLoan(ground, {
    filLender: textBytes(accomplice.address),
    filBorrower: textBytes(liar.address),
    hashA1: secretHash(secret),
    channel: channelIdBytes(Number(own.id.slice(2))),
  })
  const extreme = signVoucher(liar, {
    ...{ channelAddr: own.robust, amount: 1n, lane: (1n << 63n) - 1n, nonce: (1n << 64n) - 1n },
    ...{ minSettleHeight: (1n << 63n) - 1n, secretHash: Buffer.from(secretHash(secret).slice(2), 'hex') },
  })
  await redeem(accomplice, own.id, extreme, secret, GAS)
  await chain.mine(2)
  await settle(accomplice, own.robust)
  await chain.mine(2)
  t.match(chain.readChannel(own.robust), { settlingAt: (1n << 63n) - 1n }, 'the actor took it')

  // Thousands of top-ups: what a step costs must not grow with them.
  const stepMs = async (): Promise<number> => {
    await synced()
    await fundChannel(accomplice, own.robust, 1n)
    await chain.mine(2)
    const from = performance.now()
    await synced()
    return Math.round(performance.now() - from)
  }
  const before = [await stepMs(), await stepMs(), await stepMs()]
  const funder = await villain(ground, 'funder')
  const backlog = performance.now()
  for (let sent = 0; sent < TOP_UPS; sent += 200) {
    await Promise.all(Array.from({ length: 200 }, () => fundChannel(funder, own.robust, 1n)))
    await chain.mine(1)
  }
  await chain.mine(2)
  tell(`${TOP_UPS} top-ups are sent`)
  await synced()
  tell(`and indexed, ${((performance.now() - backlog) / 1000).toFixed(1)} s after the first`)
  const after = [await stepMs(), await stepMs(), await stepMs()]
  t.comment(`a step of one top-up, ms until it is seen: ${before.join()} before, ${after.join()} after`)
  t.ok(Math.min(...after) < 2000, 'a step of a channel of thousands of messages')

  // Contracts that name somebody else's channel: as strangers to it, and with everything else copied too.
  const thieves: string[] = []
  const named = channelIdBytes(Number(honest.id.slice(2)))
  for (const text of Object.values(HOSTILE_TEXTS)) {
    const texts = { filLender: text, filBorrower: text, hashA1: secretHash(text), channel: named }
    thieves.push(await hostileLoan(ground, texts))
  }
  const { filLender, filBorrower, hashes } = honest.life
  for (const hashA1 of [secretHash(secret), hashes.a1]) {
    const copied = { filLender: Buffer.from(filLender.slice(2), 'hex'), hashA1, channel: named }
    thieves.push(
      await hostileLoan(ground, { ...copied, filBorrower: Buffer.from(filBorrower.slice(2), 'hex') }),
    )
  }
  for (const text of Object.values(HOSTILE_TEXTS)) {
    // One that is all zeros cannot be told from none.
    const channel = bytesText(Uint8Array.of(...text.slice(0, 31), 1)).padEnd(66, '0')
    await hostileLoan(ground, { filLender: text, filBorrower: text, hashA1: secretHash(text), channel })
  }
  // A channel in the parties' names, made when their loan has its own.
  await openChannel(ground, liar, walletAddress(honest.half.borrower), walletAddress(honest.half.lender))
  await synced()
  tell('hostile contracts')

  const backend = openQueueBackend({ databaseUrl: api.url, redisUrl: undefined }, (error) =>
    t.comment(error.message),
  )
  const queue = openVoucherQueue(backend)
  const jobs = hostileVouchers(own.robust, liar, await villain(ground, 'stranger'))
  const untaken: string[] = []
  try {
    for (const [id, { data }] of Object.entries(jobs))
      await addVoucher(queue, data, id).catch((error: unknown) => {
        untaken.push(id)
        t.comment(`the queue itself takes no ${id}: ${String(error).slice(0, 100)}`)
      })
  } finally {
    await queue.close()
    backend.close()
  }
  await player.playLoans(4)
  await synced()

  await t.test('everything refused has a dead letter that says why', async (t) => {
    const list = z.object({
      deadLetters: z.array(
        z.object({ jobId: z.string().nullable(), queue: z.string(), reason: z.string(), id: z.number() }),
      ),
    })
    const wanted = Object.keys(jobs).filter((id) => !untaken.includes(id))
    let found: z.infer<typeof list>['deadLetters'] = []
    for (
      let tries = 0;
      tries < 20 && found.filter(({ queue }) => queue === 'vouchers').length < wanted.length;
      tries += 1
    ) {
      const ran = await ops('dead-letters', 'list', '--json', '--limit', '1000')
      t.equal(ran.code, 0, ran.err)
      found = list.parse(JSON.parse(ran.out)).deadLetters
    }
    for (const id of wanted)
      t.match(found.find(({ jobId: job }) => job === `voucher-${id}`)?.reason ?? 'none', jobs[id]?.reason, id)
    const stored = found.filter(({ queue }) => queue === 'node-store')
    t.equal(
      stored.length,
      hostileStoredVouchers(own.robust).length,
      stored.map(({ reason }) => reason).join('\n'),
    )
    t.ok(untaken.includes('a-megabyte'), 'the queue on Postgres does not take a megabyte')
    const some = found.find(({ queue }) => queue === 'vouchers')
    const shown = await ops('dead-letters', 'show', String(some?.id), '--json')
    t.match(shown, { code: 0 })
    t.ok(shown.out.length < 100_000, 'what was refused is kept within bounds')
  })

  await t.test('an import tells line by line what it refuses', async (t) => {
    const file = join(t.testdir(), 'lines')
    const lines: Uint8Array[] = Object.values(jobs).flatMap(({ data }) => {
      const text = JSON.stringify(data)
      return text.includes('\n') ? [] : [textBytes(text)]
    })
    const refused = [...lines, Uint8Array.of(0xff, 0xfe), new Uint8Array(200_000).fill(65), textBytes('{"a')]
    await writeFile(file, Buffer.concat(refused.flatMap((line) => [line, textBytes('\n')])))
    const ran = await ops('vouchers', 'import', file, '--json')
    t.equal(ran.code, 1, ran.err)
    t.match(JSON.parse(ran.out), { accepted: 0, known: 0, refused: refused.length, finished: true })
  })

  await t.test('nothing wrong is shown', async (t) => {
    const stage: Stage = {
      ...{ db: api.db, app: api.app, rpcUrl: anvil.url, deployment, lotus, player },
      settleDelayEpochs: SETTLE_DELAY,
    }
    t.same((await compareWithChain(api.db, anvil.url, deployment)).differences, [])
    await t.resolves(
      sql`select body::jsonb from ledger.event_log`.execute(api.db),
      'what is kept can be taken apart by the database',
    )
    const ofOthers = (difference: string): boolean =>
      difference.includes(` ${loanOfLiar} FIL testnet - ERC20FIL`) ||
      difference.startsWith(`/api/loan/ERC20/${loanOfLiar} `)
    const read = async (): Promise<string[]> =>
      (await compareChannels(stage)).differences.filter((difference) => !ofOthers(difference))
    // The node's own vouchers are read every 30 seconds.
    let differences = await read()
    for (const until = Date.now() + 45_000; differences.length > 0 && Date.now() < until;) {
      await delay(1000)
      differences = await read()
    }
    t.same(differences, [])

    const { filCollateral } = erc20LoanAnswer.parse(
      (await api.app.inject(`/api/loan/ERC20/${loanOfLiar}`)).json(),
    ).payload
    t.match(filCollateral, {
      ...{ paymentChannelId: own.id, state: '7', secretA1: bytesText(secret) },
      ...{ settlingAtHeight: null, settlingAtEstTimestamp: null },
    })
    for (const thief of thieves) {
      const { payload } = erc20LoanAnswer.parse((await api.app.inject(`/api/loan/ERC20/${thief}`)).json())
      t.same(payload.filCollateral, {}, `loan ${thief} has no channel`)
    }
  })

  await t.test('every answer is what the API promises', async (t) => {
    let pages = 1
    for (let page = 1; page <= pages; page += 1) {
      const answer = historyAnswer.parse((await api.app.inject(`/api/activity/history/${page}`)).json())
      pages = answer.pages
    }
    t.ok(pages > 10, `${pages} pages`)
    const loans = await madeLoans(createRpc(anvil.url), deployment)
    for (const { market, loanId } of loans) {
      const isToken = market === 'erc20Loans'
      const answer = await api.app.inject(`/api/loan/${isToken ? 'ERC20' : 'FIL'}/${loanId}`)
      ;(isToken ? erc20LoanAnswer : filLoanAnswer).parse(answer.json())
    }
    const { payload } = statusAnswer.parse((await api.app.inject('/api/status')).json())
    t.ok(payload.networks.every(({ state, problem }) => state === 'following' && problem === null))
  })

  t.equal(indexer.pid, pid, 'it is the same process')
  t.doesNotThrow(() => process.kill(pid, 0), 'and lives')
  const resident = residentMiB(pid)
  t.ok(resident < MOST_RESIDENT_MIB, `${resident} MiB`)
  tell(`${resident} MiB resident in the end`)
  t.equal(await indexer.stop(), 0, 'the digest is of a log that stands still')
  const digest = await ops('digest')
  t.match(await ops('replay'), { code: 0 })
  t.equal((await ops('digest')).out, digest.out, 'a replay gives the same')
})
