import t from 'tap'
import { startAnvil } from '../../../devnet/evm/anvil.ts'
import { deployContracts } from '../../../devnet/evm/deploy.ts'
import { createPlayer } from '../../../devnet/evm/player.ts'
import { createEvmSource, type EvmSource } from '../../../indexer/sources/evm/evm-source.ts'
import {
  LOAN_STORAGE,
  slotsOfLoan,
  slotsOfLongBytes,
} from '../../../indexer/sources/evm/proof/loan-storage.ts'
import { cases } from '../../helpers/cases.ts'
import { testSeed } from '../../helpers/test-seed.ts'
import { seededRandom } from '../../helpers/random-chain.ts'
import { lyingAnswers } from '../../../devnet/faults/fault.ts'
import { startProxy } from './faulty-proxy.ts'

const seed = testSeed(t)
const LOANS = 40
t.setTimeout(120_000)

void t.test('contract storage, proven', async (t) => {
  const anvil = await startAnvil({ port: 0, historyBlocks: 10_000 })
  t.teardown(() => anvil.stop())
  const deployment = await deployContracts(anvil.url)
  await createPlayer({ rpcUrl: anvil.url, deployment, seed }).playLoans(LOANS)
  const proxy = await startProxy(t, anvil.url)
  const contract = (address: string) => ({ address, startBlock: 0, idPrefix: null })
  const source = (url: string): EvmSource => {
    const made = createEvmSource({
      ...{ blockchain: 'TEST', networkId: '31337', rpcUrls: [url], wsUrl: null, confirmations: 0 },
      ...{ maxBlockRange: 2000, pollIntervalMs: 20 },
      erc20Loans: contract(deployment.erc20Loans),
      erc20CollateralLock: contract(deployment.erc20CollateralLock),
    })
    t.teardown(() => made.close())
    return made
  }
  const block = await source(anvil.url).head()
  const counters = await source(anvil.url).proveLoanCounters(block)
  const asked = [...counters].flatMap(([role, count]) =>
    Array.from({ length: Number(count) }, (_, index) => ({ role, contractLoanId: String(index + 1) })),
  )

  await t.test('is what the contract answers', async (t) => {
    t.ok(asked.length >= LOANS, `${asked.length} loans`)
    const next = { role: 'erc20Loans', contractLoanId: String(asked.length + 1) } as const
    const proven = await source(anvil.url).proveLoanStates([...asked, next], block)
    t.same(proven.slice(0, -1), await source(anvil.url).fetchLoanStates(asked, block))
    t.match(proven.at(-1), { loan: null }, 'there is no loan beyond the counter')
  })

  await t.test('is not read where somebody made a value of it absurdly long', (t) => {
    const slots = slotsOfLoan('erc20Loans', '1')
    const { slot = 0 } = LOAN_STORAGE.erc20Loans.find(({ name }) => name === 'filBorrower') ?? {}
    const values = (bytes: number) => slots.map((_, index) => (index === slot ? BigInt(2 * bytes + 1) : 0n))
    t.equal(slotsOfLongBytes('erc20Loans', slots, values(8192))?.length, 256)
    t.equal(slotsOfLongBytes('erc20Loans', slots, values(8193)), null)
    t.end()
  })

  await t.test('cannot be told falsely', async (t) => {
    const random = seededRandom(seed)
    const truth = await source(anvil.url).proveLoanStates(asked.slice(0, 3), block)
    let accepted = 0
    for (let lie = 0; lie < cases(60); lie += 1) {
      let told = false
      proxy.fault = lyingAnswers(['eth_getProof', 'eth_getBlockByHash'], (result, { method }) => {
        if (method === 'eth_getBlockByHash' && !random.chance(0.1)) return undefined
        told = true
        return withOneDigitChanged(result, random.below)
      })
      const answer = await source(proxy.url)
        .proveLoanStates(asked.slice(0, 3), block)
        .catch(() => null)
      t.ok(told, 'a lie was told')
      if (answer !== null && JSON.stringify(answer) !== JSON.stringify(truth)) accepted += 1
    }
    t.equal(accepted, 0)
  })

  await t.test('is not taken from an older block under the hash of this one', async (t) => {
    const older = { ...block, number: Math.floor(block.number / 2) }
    proxy.fault = lyingAnswers(['eth_getProof', 'eth_getBlockByHash'], async (result, request, upstream) => {
      const [contract, slots] = request.params
      const at = `0x${older.number.toString(16)}`
      if (request.method === 'eth_getProof') return upstream.ask('eth_getProof', contract, slots, at)
      const header = (await upstream.ask('eth_getBlockByNumber', at, false)) as object
      return { ...header, hash: block.hash, number: (result as { number: string }).number }
    })
    await t.rejects(source(proxy.url).proveLoanCounters(block), /does not hash to its hash/)
  })
})

/** Changes a digit of some text in the answer; proofs are most of it. */
function withOneDigitChanged(result: unknown, below: (n: number) => number): unknown {
  const text = JSON.stringify(result)
  const texts = [...text.matchAll(/"0x([0-9a-f]+)"/g)]
  const chosen = texts[below(texts.length)]
  const digits = chosen?.[1] ?? ''
  const at = (chosen?.index ?? 0) + 3 + below(digits.length)
  const digit = text[at] === '0' ? '1' : '0'
  return JSON.parse(text.slice(0, at) + digit + text.slice(at + 1))
}
