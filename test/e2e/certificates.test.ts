import t from 'tap'
import * as z from 'zod'
import { lotusFaults } from '../../devnet/faults/weather.ts'
import { startLotus } from '../../devnet/filecoin/lotus.ts'
import { powerTableCid } from '../../shared/filecoin/f3/power-table.ts'
import { startProxy } from '../chain/sources/faulty-proxy.ts'
import { testApi } from '../helpers/api.ts'
import { indexerProcess } from '../helpers/indexer-process.ts'
import { eventually } from '../helpers/programs.ts'
import { runOps } from '../helpers/run-ops.ts'

t.setTimeout(240_000)

const STATUS = z.object({
  payload: z.object({
    networks: z.array(
      z.object({
        finalized: z.number().nullable(),
        proof: z.object({ certificateAt: z.number().nullable() }).nullable(),
      }),
    ),
  }),
})

void t.test('the index becomes final by certificate, and no lie makes it so', async (t) => {
  const lotus = await startLotus({
    ...{ tickMs: null, epochDurationS: 2, seed: 'certificates', nullRoundChance: 0.1 },
    ...{ finalityEpochs: 5, certifyEvery: 4 },
  })
  t.teardown(() => lotus.stop())
  const { chain, certifier } = lotus
  if (certifier === null) throw new Error('the node certifies nothing')
  await chain.mine(60)
  const proxy = await startProxy(t, lotus.url)
  const { instance, table } = { instance: 3, table: certifier.committee.table(3) }
  const certificates = { instance, powerTable: powerTableCid(table) }
  const filecoin = [{ networkId: 'testnet', rpcUrls: [proxy.url], pollIntervalMs: 100, certificates }]
  const networks = { evm: [], filecoin }
  const api = await testApi(t)
  const indexer = await indexerProcess(t, { databaseUrl: api.url, networks })
  const status = async () => {
    const answer = STATUS.parse((await api.app.inject('/api/status')).json())
    const [network] = answer.payload.networks
    return { final: network?.finalized ?? null, certified: network?.proof?.certificateAt ?? null }
  }
  const until = (what: string, height: number): Promise<void> =>
    eventually(
      what,
      async () => {
        const { final, certified } = await status()
        return final === height && certified === height
      },
      60_000,
    )

  indexer.start()
  await until('all is final by certificate', certifier.finalized.height)
  const first = certifier.finalized.height
  const ops = await runOps(t, { databaseUrl: api.url, networks }, 'status')
  t.match(ops.out, `final by certificate at ${first}`)

  await indexer.kill()
  await chain.mine(24)
  const weak = lotusFaults['a certificate with too little power']
  if (weak === undefined) throw new Error('the fault is gone')
  proxy.fault = weak.make({ now: () => true, below: () => 0 })
  indexer.start()
  await indexer.untilSays('has a finality certificate that proves nothing: its signers have')
  await eventually(
    'finality is the node’s word',
    async () => (await status()).final === certifier.finalized.height,
  )
  t.same(await status(), { final: certifier.finalized.height, certified: first }, '0 accepted')

  await indexer.kill()
  proxy.fault = () => null
  indexer.start()
  await until('the truth is accepted again', certifier.finalized.height)
  await chain.mine(12)
  await until('certificates go on with the chain', certifier.finalized.height)
  t.equal(await indexer.stop(), 0)
})
