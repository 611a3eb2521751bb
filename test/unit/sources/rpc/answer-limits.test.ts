import t from 'tap'
import { EVM_LIMITS } from '../../../../indexer/sources/evm/answer-limits.ts'
import { LOTUS_LIMITS } from '../../../../indexer/sources/filecoin/answer-limits.ts'
import {
  joinNetworks,
  largestAnswer,
  limitOf,
  SMALL_ANSWER,
} from '../../../../indexer/sources/rpc/answer-limits.ts'

const MIB = 1024 * 1024

void t.test('a batch may need the sum of its calls, as far as memory goes', (t) => {
  const header = 'eth_getBlockByNumber'
  t.match(limitOf([header], EVM_LIMITS), { bytes: MIB, mayBeLarger: false })
  t.match(limitOf([header, 'eth_chainId'], EVM_LIMITS), { bytes: MIB + 1024, values: 20_020 })
  t.match(limitOf(Array<string>(100).fill(header), EVM_LIMITS), { bytes: 8 * MIB, values: 300_000 })
  t.match(limitOf([header, 'eth_getLogs'], EVM_LIMITS), { mayBeLarger: true })
  t.match(limitOf(['Filecoin.StateNetworkVersion'], LOTUS_LIMITS), SMALL_ANSWER)
  t.end()
})

void t.test('more networks have smaller answers, until they leave', (t) => {
  const leave = Array.from({ length: 6 }, joinNetworks)
  t.equal(largestAnswer(), Math.floor((32 * MIB) / 6))
  leave.push(...Array.from({ length: 40 }, joinNetworks))
  t.equal(largestAnswer(), 4 * MIB)
  for (const one of leave) one()
  t.equal(largestAnswer(), 8 * MIB)
  t.end()
})
