import t from 'tap'
import { createRandom } from '../../../devnet/evm/random.ts'
import { chanceFrom, Refusal, lyingAnswers } from '../../../devnet/faults/fault.ts'
import { lotusFaults } from '../../../devnet/faults/weather.ts'
import { testSeed } from '../../helpers/test-seed.ts'
import { startProxy } from '../sources/faulty-proxy.ts'
import { StepIndex } from '../sources/step-index.ts'
import { catchUp, networkOf, sameAsChain } from './catch-up.ts'
import { startBusyChain } from './traffic.ts'

const seed = String(testSeed(t))
t.setTimeout(200_000)

const busy = { epochs: 60, messages: 4, nullRoundChance: 0.1, blocksPerTipset: [2, 5] } as const

void t.test('one endpoint cannot put another message in a channel’s message’s place', async (t) => {
  const lotus = await startBusyChain(t, seed, busy)
  const liar = await startProxy(t, lotus.url)
  const { now, below } = chanceFrom(createRandom(seed))
  const fault = lotusFaults['a channel’s message with another content']
  liar.fault =
    fault?.make({ now: (probability) => now(probability) || liar.faults === 0, below }) ?? liar.fault
  const index = new StepIndex()
  await catchUp(lotus, index, { network: networkOf(liar) })
  t.ok(liar.faults > 0, `${liar.faults} lies`)
  sameAsChain(t, index, lotus, 'in spite of them')
  t.same(index.kindsBelow(), ['receipts'])
})

void t.test('where an endpoint does not list the messages of blocks, that is told', async (t) => {
  const lotus = await startBusyChain(t, seed, busy)
  const poor = await startProxy(
    t,
    lotus.url,
    lyingAnswers(['Filecoin.ChainGetBlockMessages'], () => new Refusal(-32601, 'method not found')),
  )
  const index = new StepIndex()
  const reports: string[] = []
  await catchUp(lotus, index, { network: networkOf(poor), report: (_, message) => reports.push(message) })
  sameAsChain(t, index, lotus, 'without lists')
  t.ok(index.evidence.some(({ check }) => check === 'one'))
  t.match(reports.join('\n'), /does not list the messages of blocks/)
})
