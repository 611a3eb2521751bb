import t from 'tap'
import { isJson, lyingAnswers, type Answer, type Fault } from '../../../devnet/faults/fault.ts'
import { createFilecoinSource } from '../../../indexer/sources/filecoin/filecoin-source.ts'
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
  t.same(index.kindsBelow(), ['receipts'])
  t.match(reports.join('\n'), /the headers of its head do not hash to their CIDs/)
})

void t.test(
  'rules that are known are not lowered by one endpoint, and are given up by an operator',
  async (t) => {
    const lotus = await startBusyChain(t, seed, { epochs: 45, messages: 3, nullRoundChance: 0.2 })
    const read = async (url: string, known: Record<string, boolean>) => {
      const source = createFilecoinSource(networkOf(lotus, { rpcUrls: [url] }))
      t.teardown(() => source.close())
      source.believeRules?.(known)
      const final = (await source.finalized())?.number ?? 0
      const { evidence } = await source.readRange(1, final)
      return { rules: source.chainRules?.(), checks: [...new Set(evidence.map(({ check }) => check))] }
    }
    const rules = { headers: true, receipts: true, messages: true }
    const truth = await read(lotus.url, {})
    t.same(truth, { rules, checks: ['receipts', 'one'] })
    const bare = await startProxy(
      t,
      lotus.url,
      withoutField(() => true),
    )
    await t.rejects(read(bare.url, rules), /headers do not hash to their CIDs, and others of this chain do/)
    t.match(await read(bare.url, { headers: false }), { rules: { headers: false }, checks: ['one'] })
    const gas = await startProxy(
      t,
      lotus.url,
      lyingAnswers(['Filecoin.ChainGetParentReceipts'], (result) =>
        Array.isArray(result) ? result.map((receipt: object) => ({ ...receipt, GasUsed: 1 })) : undefined,
      ),
    )
    await t.rejects(read(gas.url, {}), /receipts of the tipset at \d+ are not those under/)
    t.match(await read(gas.url, { receipts: false }), { rules: { receipts: false }, checks: ['one'] })
    const others = await startProxy(
      t,
      lotus.url,
      lyingAnswers(['Filecoin.ChainGetBlockMessages'], () => ({
        BlsMessages: [],
        SecpkMessages: [],
        Cids: [],
      })),
    )
    await t.rejects(read(others.url, {}), /messages of a block are not those under/)
    t.match(await read(others.url, { messages: false }), { rules: { messages: false }, checks: ['one'] })
  },
)
