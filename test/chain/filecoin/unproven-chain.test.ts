import t from 'tap'
import { isJson, type Answer, type Fault } from '../../../devnet/faults/fault.ts'
import { testSeed } from '../../helpers/test-seed.ts'
import { startProxy } from '../sources/faulty-proxy.ts'
import { StepIndex } from '../sources/step-index.ts'
import { catchUp, networkOf, sameAsChain } from './catch-up.ts'
import { startBusyChain } from './traffic.ts'

const seed = String(testSeed(t))
t.setTimeout(200_000)

/** Leaves a hashed field out of the headers of these tipsets. */
function withoutField(isAffected: (height: unknown) => boolean): Fault {
  return async (_requests, truth) => (await truth()).map((answer) => withoutSignature(answer, isAffected))
}

function withoutSignature(answer: Answer, isAffected: (height: unknown) => boolean): Answer {
  const { result } = answer
  if (!isJson(result) || !Array.isArray(result['Blocks']) || !isAffected(result['Height'])) return answer
  const blocks = result['Blocks'].map((block: object) => ({ ...block, BlockSig: undefined }))
  return { ...answer, result: { ...result, Blocks: blocks } }
}

void t.test('a chain whose headers do not hash to their CIDs is read, and that is told', async (t) => {
  const lotus = await startBusyChain(t, seed, { epochs: 45, messages: 3, nullRoundChance: 0.2 })
  const poor = await startProxy(
    t,
    lotus.url,
    withoutField(() => true),
  )
  const index = new StepIndex()
  const reports: string[] = []
  await catchUp(lotus, index, { network: networkOf(poor), report: (_, message) => reports.push(message) })
  sameAsChain(t, index, lotus, 'without hashes')
  t.same([...new Set(index.evidence.map(({ check }) => check))], ['one'])
  t.match(reports.join('\n'), /headers do not hash to their CIDs, so nothing .* is proven/)
})

void t.test('an endpoint whose head alone does not hash is not asked', async (t) => {
  const lotus = await startBusyChain(t, seed, { epochs: 45, messages: 3, nullRoundChance: 0.2 })
  const liar = await startProxy(
    t,
    lotus.url,
    withoutField((height) => height !== 0),
  )
  const index = new StepIndex()
  const reports: string[] = []
  await catchUp(lotus, index, {
    network: networkOf(lotus, { rpcUrls: [liar.url, lotus.url] }),
    secondPatienceMs: 500,
    report: (_, message) => reports.push(message),
  })
  sameAsChain(t, index, lotus, 'beside it')
  t.same([...new Set(index.evidence.map(({ check }) => check))], ['receipts'])
  t.match(reports.join('\n'), /the headers of its head do not hash to their CIDs/)
})
