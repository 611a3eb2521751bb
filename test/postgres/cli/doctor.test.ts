import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import t from 'tap'
import { startAnvil } from '../../../devnet/evm/anvil.ts'
import { deployContracts } from '../../../devnet/evm/deploy.ts'
import { startLotus } from '../../../devnet/filecoin/lotus.ts'
import { testDatabase } from '../../helpers/database.ts'
import { freePort } from '../../helpers/free-port.ts'
import { testRedis } from '../../helpers/redis.ts'
import { runOps } from '../../helpers/run-ops.ts'

t.setTimeout(120_000)

interface Told {
  failed: number
  findings: { part: string; verdict: string; message: string }[]
}

void t.test('doctor has a verdict for each part, and no secret', async (t) => {
  const { url: databaseUrl } = await testDatabase(t)
  const redisUrl = await testRedis(t)
  if (redisUrl === null) return
  const anvil = await startAnvil()
  t.teardown(() => anvil.stop())
  const { erc20Loans } = await deployContracts(anvil.url)
  // An endpoint without batches, old states and final blocks.
  const poor = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const body = Buffer.concat(chunks).toString()
      const refuse = (message: string): void => {
        const { id } = JSON.parse(body) as { id: unknown }
        response.end(JSON.stringify({ jsonrpc: '2.0', id, error: { code: -32000, message } }))
      }
      if (body.startsWith('[')) response.writeHead(400).end('no batches')
      else if (body.includes('eth_getBalance')) refuse('missing trie node')
      else if (body.includes('"finalized"'))
        response.end(
          JSON.stringify({
            ...{ jsonrpc: '2.0', result: null },
            id: (JSON.parse(body) as { id: unknown }).id,
          }),
        )
      else
        void fetch(anvil.url, { method: 'POST', headers: { 'content-type': 'application/json' }, body })
          .then((answer) => answer.text())
          .then((text) => response.end(text))
    })
  })
  await new Promise<void>((resolve) => poor.listen(0, '127.0.0.1', resolve))
  t.teardown(() => poor.close())
  const network = {
    ...{ blockchain: 'DEVNET', networkId: '31337', wsUrl: null, erc20Loans: { address: erc20Loans } },
    rpcUrls: [
      `${anvil.url}/?key=secret-token`,
      `http://127.0.0.1:${(poor.address() as AddressInfo).port}`,
      `http://127.0.0.1:${await freePort()}`,
    ],
  }
  const env = { REDIS_URL: redisUrl }
  const lotus = await startLotus({ tickMs: null, seed: 'doctor' })
  t.teardown(() => lotus.stop())
  await lotus.chain.mine(3)
  const networks = { evm: [network], filecoin: [{ networkId: 'testnet', rpcUrls: [lotus.url] }] }
  const ran = await runOps(t, { databaseUrl, networks, env }, 'doctor', '--json')
  t.equal(ran.code, 1, ran.err)
  const { findings } = JSON.parse(ran.out) as Told
  const of = (part: string): string[] =>
    findings.filter((one) => one.part === part).map(({ verdict, message }) => `${verdict}: ${message}`)
  t.match(of('environment'), ['ok: it has no mistakes'])
  t.match(
    of('DATABASE_URL').join('\n'),
    /^ok: PostgreSQL \d+.*ok: the encoding is UTF8.*ok: the schema is that/s,
  )
  t.match(of('REDIS_URL'), [/^ok: it answers/])
  t.match(of('evm:31337 endpoint 1'), [
    /^ok: the right chain, at block \d+$/,
    'ok: its headers hash to their hashes',
    'ok: an archive: it has the state of block 0',
    'ok: it takes ranges of 2000 blocks',
    'ok: it says which block is final',
    'ok: it gives the receipts of a block',
    'ok: it proves the state of contracts',
    'ok: it takes batches of 100 calls',
  ])
  t.match(of('evm:31337 endpoint 2').join('\n'), /warning: no archive: .*\(missing trie node\)/)
  t.match(
    of('evm:31337 endpoint 2').join('\n'),
    'warning: it does not say which block is final (the answer is null)',
  )
  t.match(of('evm:31337 endpoint 2').join('\n'), /warning: it takes batches of 1 calls/)
  t.match(of('evm:31337 endpoint 3'), [/^failed: .*ECONNREFUSED/])
  t.match(of('filecoin:testnet endpoint 1'), [
    /^ok: the right chain, at block \d+$/,
    'ok: its headers hash to their hashes',
    'ok: an archive: it has the state of epoch 0',
    'ok: it shows the vouchers of its own store',
    /^ok: it has (no )?finality certificates/,
    'ok: it lists the messages of blocks',
    'ok: it takes batches of 100 calls',
  ])
  const text = await runOps(t, { databaseUrl, networks, env }, 'doctor')
  t.equal(text.code, 1)
  t.match(text.out, /^FAIL evm:31337 endpoint 3: /m)
  t.match(text.out, /\n\d+ ok, \d+ warnings, 1 failed\n$/)
  for (const line of text.out.split('\n')) t.ok(line.length <= 80, line)
  t.notMatch(ran.out + text.out, 'secret-token')
})

void t.test('what is away or wrong is a verdict and no crash', async (t) => {
  const databaseUrl = `postgres://a:hunter2@127.0.0.1:${await freePort()}/x`
  const env = { REDIS_URL: `redis://:hunter2@127.0.0.1:${await freePort()}` }
  const ran = await runOps(t, { databaseUrl, networks: { evm: [{}] }, env }, 'doctor', '--json')
  t.equal(ran.code, 1)
  t.equal(ran.err, '')
  const { findings } = JSON.parse(ran.out) as Told
  const failed = findings.filter(({ verdict }) => verdict === 'failed').map(({ part }) => part)
  t.same(failed, ['NETWORKS_FILE', 'DATABASE_URL', 'REDIS_URL'])
  t.notMatch(ran.out, 'hunter2')
  const mistaken = await runOps(t, { databaseUrl: 'nonsense', networks: {} }, 'doctor')
  t.match(mistaken, { code: 1, out: /^FAIL environment: DATABASE_URL must be a URL/ })
})
