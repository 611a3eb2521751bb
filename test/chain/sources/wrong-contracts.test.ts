import t from 'tap'
import { createEvmSource } from '../../../indexer/sources/evm/evm-source.ts'
import { PermanentError, RetryableError } from '../../../shared/errors.ts'
import { startProxy, type Fault } from './faulty-proxy.ts'
import { ABI, startLittleChain, type LittleChain } from './little-chain.ts'

const FETCH_LOAN = ABI.loans.getFunction('fetchLoan')?.selector.slice(2) ?? ''
/** EIP-1167: hands every call on to an address. */
const proxyTo = (address: string): string => `363d3d373d3d3d363d73${address}5af43d82803e903d91602b57fd5bf3`

/** A contract with this code, in hex without `0x`. */
async function put(chain: LittleChain, code: string): Promise<string> {
  const size = (code.length / 2).toString(16).padStart(2, '0')
  const hash = await chain.send(chain.accounts[0] ?? '', null, `0x60${size}80600b6000396000f3${code}`)
  await chain.mine()
  return ((await chain.rpc('eth_getTransactionReceipt', hash)) as { contractAddress: string }).contractAddress
}

const at = (address: string, startBlock = 0): { address: string; startBlock: number; idPrefix: null } => ({
  ...{ address, startBlock, idPrefix: null },
})

/** Checks a source; its error as text and what it warned of. */
async function check(
  network: ReturnType<LittleChain['network']>,
): Promise<{ error: unknown; said: string[] }> {
  const said: string[] = []
  const source = createEvmSource(network, { report: (_, message) => said.push(message) })
  const error: unknown = await source.check().then(
    () => null,
    (reason: unknown) => reason,
  )
  await source.close()
  return { error, said }
}

void t.test('the wrong contract is refused in one line that says what stands there', async (t) => {
  const chain = await startLittleChain(t)
  const [token = ''] = chain.tokens
  const batcher = await chain.deploy('LoanBatcher')
  const cases: [name: string, loans: string, looks: RegExp][] = [
    ['swapped', chain.lock, /erc20Loans\.address 0x\S+ is an ERC20CollateralLock: are the two swapped\?/],
    ['a token', token, /erc20Loans\.address 0x\S+ is a token/],
    [
      'an account',
      chain.accounts[3] ?? '',
      /no code at 0x\S+ \(erc20Loans\) on chain 31337 at block \d+: an account/,
    ],
    ['another contract', batcher, /erc20Loans\.address 0x\S+ is a contract without fetchLoan/],
    ['an empty proxy', await put(chain, proxyTo('00'.repeat(20))), /a proxy without an implementation\?/],
    [
      'another version',
      await put(chain, '60406000f3'),
      /erc20Loans\.address 0x\S+ answers fetchLoan in another form/,
    ],
  ]
  for (const [name, address, looks] of cases) {
    const swapped = name === 'swapped'
    const { error } = await check(
      chain.network({ erc20Loans: at(address), erc20CollateralLock: at(swapped ? chain.loans : chain.lock) }),
    )
    t.type(error, PermanentError, name)
    t.match(String(error), looks, name)
    t.notMatch(String(error), '\n', name)
  }
  const lock = await check(chain.network({ erc20CollateralLock: at(chain.loans) }))
  t.match(String(lock.error), /erc20CollateralLock\.address 0x\S+ is an ERC20Loans: are the two swapped\?/)
})

void t.test('the right contract is taken, and what cannot be told is warned of', async (t) => {
  const chain = await startLittleChain(t)
  t.same(await check(chain.network()), { error: null, said: [] }, 'without a loan')
  const proxy = await put(chain, proxyTo(chain.loans.slice(2)))
  t.same(await check(chain.network({ erc20Loans: at(proxy) })), { error: null, said: [] }, 'behind a proxy')
  const reverting = await put(chain, `63${FETCH_LOAN}60006000fd`)
  const unsure = await check(chain.network({ erc20Loans: at(reverting) }))
  t.equal(unsure.error, null, 'an unknown loan may be a revert')
  t.match(unsure.said, [
    /has no loan yet that would tell its kind; it is taken for an ERC20Loans all the same/,
  ])
  const withoutState: Fault = async (requests, truth) =>
    (await truth()).map((answer) =>
      requests.find(({ id }) => id === answer.id)?.method === 'eth_call'
        ? { id: answer.id, error: { code: -32000, message: 'missing trie node' } }
        : answer,
    )
  const pruned = await startProxy(t, chain.url, withoutState)
  const untold = await check(chain.network({ rpcUrls: [pruned.url] }))
  t.equal(untold.error, null)
  t.match(untold.said, [
    /erc20Loans.*could not be asked for a loan/,
    /erc20CollateralLock.*could not be asked/,
  ])
})

void t.test(
  'an endpoint that alone finds another contract is put aside; one behind startBlock is waited for',
  async (t) => {
    const chain = await startLittleChain(t)
    const empty: Fault = async (requests, truth) =>
      (await truth()).map((answer) =>
        requests.find(({ id }) => id === answer.id)?.method === 'eth_call'
          ? { ...answer, result: '0x' }
          : answer,
      )
    const behind = await startProxy(t, chain.url, empty)
    const { error, said } = await check(chain.network({ rpcUrls: [behind.url, chain.url] }))
    t.equal(error, null)
    t.ok(
      said.every((message) => message.includes(`${behind.url} is put aside`)),
      said.join('; '),
    )
    const early = await check(chain.network({ erc20Loans: at(`0x${'12'.repeat(20)}`, 1_000_000) }))
    t.type(early.error, RetryableError)
    t.match(String(early.error), /head is block \d+, before startBlock 1000000 of erc20Loans/)
  },
)
