import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { utf8ToBytes } from '@noble/hashes/utils.js'
import t, { type Test } from 'tap'
import { createChannel, createdChannel, signVoucher } from '../../devnet/filecoin/channel-actions.ts'
import { voucherForm } from '../../devnet/filecoin/rpc/voucher-form.ts'
import { startLotus, type Wallet } from '../../devnet/filecoin/lotus.ts'
import { lotusText } from '../../devnet/filecoin/rpc/lotus-text.ts'
import { openQueueBackend } from '../../indexer/open-queue-backend.ts'
import { addVoucher, openVoucherQueue } from '../../indexer/queue/voucher-queue.ts'
import { bytesToHex } from '../../shared/filecoin/bytes.ts'
import { voucherText, type SignedVoucher } from '../../shared/filecoin/voucher.ts'
import { testDatabase } from '../helpers/database.ts'
import { deadLetters, handedInEvents } from '../helpers/handed-in.ts'
import { indexerProcess } from '../helpers/indexer-process.ts'
import { eventually } from '../helpers/programs.ts'
import { runOps } from '../helpers/run-ops.ts'

t.setTimeout(400_000)

const TOKEN = 'a-token-that-may-write'
const AMOUNT = 10n ** 18n

void t.test('the program takes what is signed off-chain by each of the ways in', async (t) => {
  const { db, url: databaseUrl } = await testDatabase(t)
  const lotus = await startLotus({ tickMs: null, seed: 'handed in', token: TOKEN, finalityEpochs: 10 })
  t.teardown(() => lotus.stop())
  const { chain } = lotus
  const borrower = await chain.createWallet('secp256k1', 'borrower')
  const lender = await chain.createWallet('bls', 'lender')
  await Promise.all([borrower, lender].map(({ address }) => chain.fund(address, 10n * AMOUNT)))
  await chain.mine(2)
  const created = await createChannel(borrower, borrower.address, lender.address, AMOUNT)
  await chain.mine(2)
  const channel = createdChannel(await chain.waitFor(created), 't')
  await chain.mine(2)
  const networks = {
    filecoin: [{ networkId: 'testnet', rpcUrls: [lotus.url], token: TOKEN, pollIntervalMs: 50 }],
  }
  const sign = (wallet: Wallet, nonce: bigint): SignedVoucher =>
    signVoucher(wallet, { channelAddr: channel.id, amount: wallet === lender ? 0n : AMOUNT, nonce })
  const [stored, queued, imported] = [sign(borrower, 1n), sign(lender, 2n), sign(borrower, 3n)]

  await callLotus(lotus.url, 'PaychVoucherAdd', [channel.robust, voucherForm(stored, 't'), null, '0'])
  const backend = openQueueBackend({ redisUrl: undefined, databaseUrl }, (error) => t.comment(error.message))
  const queue = openVoucherQueue(backend)
  await addVoucher(queue, { voucher: voucherText(queued) }, 'one')
  await addVoucher(queue, { voucher: 'garbage' }, 'two')
  const message = JSON.stringify({
    contractLoanId: '7',
    erc20LoansContract: `0x${'ab'.repeat(20)}`,
    paymentChannelId: channel.id,
    paymentChannelAddress: channel.robust,
  })
  const signature = bytesToHex(borrower.sign(utf8ToBytes(message)).data)
  await addVoucher(queue, { network: 'testnet', statement: { message, signature } }, 'three')
  await queue.close()
  backend.close()
  const before = await runOps(t, { databaseUrl, networks }, 'dead-letters', 'list')
  t.equal(before.out, 'no dead letters\n', 'nobody has looked yet')

  const indexer = await indexerProcess(t, { databaseUrl, networks })
  indexer.start()
  await eventually('all three are facts', async () => (await handedInEvents(db)).length === 3, 60_000)
  const folder = t.testdir({ 'vouchers.txt': voucherText(imported) })
  const ran = await runOps(t, { databaseUrl, networks }, 'vouchers', 'import', `${folder}/vouchers.txt`)
  t.match(ran, { code: 0, out: /1 accepted/ })
  const events = await handedInEvents(db)
  t.match(events.map(({ kind, way, signer }) => `${kind} ${way} ${signer}`).sort(), [
    `SignedStatement queue ${borrower.address}`,
    `SignedVoucher import ${borrower.address}`,
    `SignedVoucher node-store ${borrower.address}`,
    `SignedVoucher queue ${lender.address}`,
  ])
  t.ok(events.every((event) => event.channel === channel.robust))
  t.match(await deadLetters(db), [{ queue: 'vouchers', payload: { voucher: 'garbage' } }])
  t.equal(await indexer.stop(), 0)
})

async function callLotus(url: string, method: string, params: unknown[]): Promise<void> {
  const body = lotusText({ jsonrpc: '2.0', id: 1, method: `Filecoin.${method}`, params })
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${TOKEN}` },
    body,
  })
  const answer = (await response.json()) as { error?: { message: string } }
  if (answer.error !== undefined) throw new Error(answer.error.message)
}

/** What it is asked, the node answers; not what it is asked of `method`: that stays without an answer. */
async function silentAbout(
  t: Test,
  method: string,
  nodeUrl: string,
): Promise<{ url: string; asked: Promise<void> }> {
  const server = createServer((request, response) => {
    void text(request).then(async (body) => {
      if (body.includes(method)) {
        server.emit('asked')
        return
      }
      const answer = await fetch(nodeUrl, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body,
      })
      response.setHeader('content-type', 'application/json')
      response.end(await answer.text())
    })
  })
  const asked = once(server, 'asked').then(() => undefined)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/rpc/v1`, asked }
}

void t.test('a node that never says which vouchers it has keeps nobody from stopping', async (t) => {
  const { url: databaseUrl } = await testDatabase(t)
  const lotus = await startLotus({ tickMs: null, seed: 'silent', finalityEpochs: 10 })
  t.teardown(() => lotus.stop())
  const { url, asked } = await silentAbout(t, 'PaychList', lotus.url)
  const networks = { filecoin: [{ networkId: 'testnet', rpcUrls: [url], pollIntervalMs: 50 }] }
  const indexer = await indexerProcess(t, { databaseUrl, networks })
  indexer.start()
  await asked
  t.equal(await indexer.stop(), 0)
})
