import t from 'tap'
import { provenSlots } from '../../../../../indexer/sources/evm/proof/state-proof.ts'
import { BadAnswer } from '../../../../../indexer/sources/rpc/rpc-error.ts'
import { readEvmProofs } from '../../../../helpers/evm-vectors.ts'

const PROOFS = readEvmProofs()
const slotText = (key: string): string => `0x${key.slice(2).padStart(64, '0')}`
const REAL = PROOFS.find(({ proof }) => proof.storageProof.some(({ value }) => value === '0x38'))
if (REAL === undefined) throw new Error('no proof with a slot')
const { stateRoot, proof } = REAL

void t.test('real proofs prove their slots, absent ones too', async (t) => {
  t.equal(PROOFS.length, 7)
  for (const { shows, stateRoot, proof } of PROOFS) {
    const slots = proof.storageProof.map(({ key }) => slotText(key))
    const values = proof.storageProof.map(({ value }) => BigInt(value))
    t.same(await provenSlots(stateRoot, proof.address, slots, proof), values, shows)
  }
})

void t.test(
  'a proof says nothing of another root, account or slot, nor when a node is changed',
  async (t) => {
    const slots = proof.storageProof.map(({ key }) => slotText(key))
    const rejects = (root: string, address: string, asked: string[], answer: unknown): Promise<unknown> =>
      t.rejects(provenSlots(root, address, asked, answer), BadAnswer)
    await rejects(`0x${'12'.repeat(32)}`, proof.address, slots, proof)
    await rejects(stateRoot, `0x${'12'.repeat(20)}`, slots, proof)
    await rejects(stateRoot, proof.address, [`0x${'12'.repeat(32)}`], proof)
    await rejects(stateRoot, proof.address, [...slots, ...slots], proof)
    await rejects(stateRoot, proof.address, slots, { ...proof, accountProof: [] })
    await rejects(stateRoot, proof.address, slots, { ...proof, storageProof: [{ proof: [] }] })
    for (let at = 0; at < proof.accountProof.length; at += 1) {
      const changed = proof.accountProof.map((node, index) => (index === at ? flipped(node) : node))
      await rejects(stateRoot, proof.address, slots, { ...proof, accountProof: changed })
      await rejects(stateRoot, proof.address, slots, {
        ...proof,
        accountProof: proof.accountProof.slice(0, at),
      })
    }
    const nodes = proof.storageProof[0]?.proof ?? []
    for (let at = 0; at < nodes.length; at += 1) {
      const changed = nodes.map((node, index) => (index === at ? flipped(node) : node))
      await rejects(stateRoot, proof.address, slots, { ...proof, storageProof: [{ proof: changed }] })
    }
  },
)

function flipped(node: string): string {
  return node.slice(0, -1) + (node.endsWith('0') ? '1' : '0')
}

void t.test('malformed and endless proofs are bad answers', async (t) => {
  const answers = [
    ...[null, 'proof', {}, { accountProof: 'no list' }, { accountProof: [12] }, { accountProof: ['0xzz'] }],
    { accountProof: Array.from({ length: 65 }, () => '0x80') },
    { accountProof: [`0x${'00'.repeat(2000)}`] },
    { accountProof: proof.accountProof },
    { accountProof: proof.accountProof, storageProof: [null] },
  ]
  for (const answer of answers)
    await t.rejects(provenSlots(stateRoot, proof.address, [slotText('0x0')], answer), BadAnswer)
})
