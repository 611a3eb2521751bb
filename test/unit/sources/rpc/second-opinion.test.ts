import t, { type Test } from 'tap'
import { EndpointFault } from '../../../../indexer/sources/rpc/rpc-error.ts'
import { RpcClient } from '../../../../indexer/sources/rpc/rpc-client.ts'
import type { RpcEndpoint } from '../../../../indexer/sources/rpc/rpc-endpoint.ts'
import { SecondOpinion, type Opinion } from '../../../../indexer/sources/rpc/second-opinion.ts'

interface Answer {
  endpoint: RpcEndpoint
  text: string
}

/** The opinion on answers that two endpoints give one after the other. No request is sent. */
async function opinionOn(
  t: Test,
  ones: string[],
  others: string[],
  isWide = false,
): Promise<Opinion<Answer>> {
  const client = new RpcClient(['http://one.example', 'http://two.example'], {
    ...{ network: 'evm:1', timeoutMs: 1_000, maxBatch: 1, maxConcurrent: 1 },
    identity: { what: 'chain id', expected: '1' },
    verify: () => Promise.resolve(),
    report: () => undefined,
    classify: () => 'other',
  })
  t.teardown(() => client.close())
  const [one] = client.available()
  if (one === undefined) throw new Error('no endpoint')
  const readOn = (endpoint: RpcEndpoint): Promise<Answer> => {
    const text = (endpoint === one ? ones : others).shift()
    if (text === undefined) return Promise.reject(new EndpointFault('it is away'))
    return Promise.resolve({ endpoint, text })
  }
  const isSame = (left: Answer, right: Answer): boolean => left.text === right.text
  return new SecondOpinion(client, 0).on(await readOn(one), { readOn, isSame, isWide })
}

const CASES: [string, string[], string[], string][] = [
  ['both give the same', ['a'], ['a'], 'agreed a'],
  ['the first one is right the second time', ['b', 'a'], ['a'], 'agreed a'],
  ['the second one is right the second time', ['a', 'a'], ['b', 'a'], 'agreed a'],
  ['both stay with their answers', ['a', 'a'], ['b', 'b'], 'contradicted a'],
  ['both changed their minds, differently', ['a', 'c'], ['b', 'd'], 'contradicted c'],
  ['the second one is away', ['a'], [], 'alone a'],
]

void t.test('two endpoints agree, contradict each other, or one of them is alone', async (t) => {
  for (const [what, ones, others, expected] of CASES) {
    const { is, answer } = await opinionOn(t, ones, others)
    t.equal(`${is} ${answer.text}`, expected, what)
  }
})

void t.test('nobody who is left after a contradiction is no agreement', async (t) => {
  await t.rejects(opinionOn(t, ['a', 'a'], ['b']), { message: /nobody is left to bear out/ })
})
