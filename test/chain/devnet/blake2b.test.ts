import { getCreateAddress } from 'ethers'
import t from 'tap'
import { contracts } from '../../../devnet/evm/artifacts.ts'
import { bytesText, secretHash } from '../../../devnet/evm/loan-texts.ts'
import { createRandom } from '../../../devnet/evm/random.ts'
import { hex } from '../../../devnet/evm/rpc.ts'
import { openMarkets } from './markets.ts'

/** The contracts' blake2b-256, through the EIP-152 precompile, against another implementation. */

const { rpc, stranger } = await openMarkets(t)
const contract = contracts.blake2bProbe

async function deployProbe(): Promise<string> {
  const to = getCreateAddress({ from: stranger, nonce: await nonceOf(stranger) })
  await rpc.call(hex, 'eth_sendTransaction', { from: stranger, data: contract.bytecode, gas: '0x200000' })
  while ((await rpc.call(hex, 'eth_getCode', to, 'latest')) === '0x');
  return to
}

async function nonceOf(account: string): Promise<number> {
  return Number(await rpc.call(hex, 'eth_getTransactionCount', account, 'latest'))
}

await t.test('equals @noble/hashes at every length around the blocks, and for random inputs', async (t) => {
  const random = createRandom('blake2b')
  const edges = [0, 1, 31, 32, 63, 64, 65, 127, 128, 129, 255, 256, 257, 383, 384, 385, 640, 1000]
  const lengths = [...edges, ...Array.from({ length: 100 }, () => random.int(0, 520))]
  const inputs = lengths.map((length) => random.bytes(length))
  const to = await deployProbe()
  const requests = inputs.map((input) => {
    const data = contract.interface.encodeFunctionData('hash256', [bytesText(input)])
    return { method: 'eth_call', params: [{ to, data }, 'latest'] }
  })
  const answers = await rpc.all(hex, requests)
  t.same(answers, inputs.map(secretHash))
})

await t.test('equals the published digest of "abc"', (t) => {
  const published = '0xbddd813c634239723171ef3fee98579b94964e3bb1cb3e427262c8c068d52319'
  t.equal(secretHash(new TextEncoder().encode('abc')), published)
  t.end()
})
