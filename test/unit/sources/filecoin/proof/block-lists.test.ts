import t from 'tap'
import { decodeSignedMessage } from '../../../../../devnet/filecoin/chain/signed-message.ts'
import { decodeMessage } from '../../../../../devnet/filecoin/codec.ts'
import { messageForm, signedMessageForm } from '../../../../../devnet/filecoin/rpc/forms.ts'
import { blockMessages, executionOrder } from '../../../../../indexer/sources/filecoin/proof/block-lists.ts'
import { BadAnswer } from '../../../../../indexer/sources/rpc/rpc-error.ts'
import { readTuple } from '../../../../../shared/filecoin/cbor-fields.ts'
import { decodeCbor, encodeCbor } from '../../../../../shared/filecoin/cbor.ts'
import { base64, messageVectors } from '../../../../helpers/proof-vectors.ts'

/** Real blocks as nodes list their messages. */
const blocks = messageVectors().blocks.map(({ messages, bls, secp }) => ({
  root: messages,
  answer: {
    BlsMessages: bls.map(({ cbor }) => messageForm(decodeMessage(base64(cbor)), 'f')),
    SecpkMessages: secp.map(({ cbor }) => signedMessageForm(decodeSigned(base64(cbor)), 'f')),
    Cids: [...bls, ...secp].map(({ cid }) => ({ '/': cid })),
  },
}))

function decodeSigned(cbor: Uint8Array) {
  const [message, signature] = readTuple(decodeCbor(cbor), [2], 'signed message')
  return decodeSignedMessage(encodeCbor([encodeCbor(message), signature]))
}

void t.test('real blocks list the messages to which their headers commit', (t) => {
  t.equal(blocks.length, 13)
  for (const { root, answer } of blocks) {
    const listed = blockMessages(answer, root)
    t.same(
      listed.map(({ cid }) => ({ '/': cid })),
      answer.Cids,
    )
    const { BlsMessages: bls, SecpkMessages: others, Cids: cids } = answer
    t.equal(listed.filter(({ signature }) => signature === null).length, bls.length)
    if (cids.length === 0) continue
    const [first] = cids
    for (const lie of [
      { ...answer, Cids: cids.slice(1) },
      { ...answer, Cids: [...cids, first] },
      { ...answer, Cids: cids.toReversed().with(0, { '/': root }) },
      { ...answer, BlsMessages: bls.slice(1), SecpkMessages: others.slice(1) },
      { ...answer, BlsMessages: [...bls, ...bls, {}] },
      { ...answer, Cids: null },
      null,
    ])
      t.throws(() => blockMessages(lie, root), BadAnswer)
  }
  t.end()
})

void t.test('the first message of a sender and nonce runs, whichever block repeats it', (t) => {
  const listed = (cid: string, From: string, Nonce: number | bigint) => ({
    ...{ cid, message: { From, Nonce }, signature: null },
  })
  const order = executionOrder([
    [listed('a0', 't01', 0), listed('b0', 't02', 0)],
    [],
    [
      listed('a0', 't01', 0),
      listed('rival', 't02', 0n),
      listed('a1', 't01', 1),
      listed('c', 't03', 2n ** 63n),
    ],
  ])
  t.same(
    order.map(({ cid }) => cid),
    ['a0', 'b0', 'a1', 'c'],
  )
  t.end()
})
