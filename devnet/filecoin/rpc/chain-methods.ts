import { encodeMessage } from '../../../shared/filecoin/message.ts'
import { encodeHeader, headerOf } from '../chain/block.ts'
import { isBls } from '../chain/signed-message.ts'
import { ancestryOf, type Tipset } from '../chain/tipset.ts'
import { blockMessagesForm, headChangeForm, link, messageForm, receiptForm, tipsetForm } from './forms.ts'
import { knownTipset, read, tipsetAt, type Methods, type Node } from './method.ts'
import * as take from './params.ts'
import { failed } from './rpc-error.ts'

/** Epochs behind the head that count as final on a node without certificates of finality. */
const FINALITY_WITHOUT_F3 = 900

export const chainMethods: Methods = {
  ChainHead: read(0, ({ chain }) => tipsetForm(chain.head(), chain.letter)),
  ChainGetGenesis: read(0, ({ chain }) => tipsetForm(chain.store.genesis, chain.letter)),
  ChainGetTipSet: read(1, ({ chain }, [key]) => {
    const cids = take.tipsetKey(key)
    if (cids.length === 0) throw failed('NewTipSet called with zero length array of blocks')
    return tipsetForm(knownTipset(chain, cids), chain.letter)
  }),
  ChainGetTipSetByHeight: read(2, (node, [height, key]) => {
    const { start, wanted } = heightAndStart(node, height, key)
    return tipsetForm(node.chain.store.atOrBelow(wanted, start), node.chain.letter)
  }),
  ChainGetTipSetAfterHeight: read(2, (node, [height, key]) => {
    const { start, wanted } = heightAndStart(node, height, key)
    return tipsetForm(node.chain.store.atOrAbove(wanted, start), node.chain.letter)
  }),
  ChainGetFinalizedTipSet: read(0, (node) => tipsetForm(finalized(node), node.chain.letter)),
  ChainGetPath: read(2, (node, [from, to]) =>
    node.chain.store
      .path(tipsetAt(node, from), tipsetAt(node, to))
      .map((change) => headChangeForm(change, node.chain.letter)),
  ),
  ChainGetParentMessages: read(1, (node, [cid]) => {
    const parent = blockOf(node, cid).tipset.parent
    // Go writes the empty list as null here.
    if (parent === null || parent.execution.messages.length === 0) return null
    return parent.execution.messages.map((signed) => ({
      Cid: link(signed.cid),
      Message: messageForm(signed.message, node.chain.letter),
    }))
  }),
  ChainGetParentReceipts: read(1, (node, [cid]) => {
    const parent = blockOf(node, cid).tipset.parent
    return parent === null ? null : parent.execution.receipts.map(receiptForm)
  }),
  ChainGetBlock: read(1, (node, [cid]) => {
    const { tipset, block } = blockOf(node, cid)
    return tipsetForm({ ...tipset, blocks: [block] }, node.chain.letter).Blocks[0]
  }),
  ChainGetBlockMessages: read(1, (node, [cid]) =>
    blockMessagesForm(blockOf(node, cid).block, node.chain.letter),
  ),
  ChainGetMessagesInTipset: read(1, (node, [key]) => {
    const { messages } = tipsetAt(node, key).execution
    return messages.map((signed) => ({
      Cid: link(signed.cid),
      Message: messageForm(signed.message, node.chain.letter),
    }))
  }),
  ChainGetMessage: read(1, ({ chain }, [cid]) => {
    const name = take.cid(cid)
    const signed = chain.pool.find(name)
    if (signed === undefined) throw notFound(name)
    return messageForm(signed.message, chain.letter)
  }),
  ChainReadObj: read(1, ({ chain }, [cid]) => {
    const name = take.cid(cid)
    const signed = chain.pool.find(name)
    if (signed !== undefined && isBls(signed)) return encodeMessage(signed.message)
    const found = chain.store.block(name)
    if (found === undefined) throw notFound(name)
    return encodeHeader(headerOf(found.block, ancestryOf(found.tipset)))
  }),
}

function heightAndStart(node: Node, height: unknown, key: unknown): { start: Tipset; wanted: number } {
  const wanted = take.integer(height)
  const start = tipsetAt(node, key)
  if (wanted > start.height) {
    throw failed(
      `looking for tipset with height greater than start point, req: ${wanted}, head: ${start.height}`,
    )
  }
  if (wanted < 0) throw failed(`height ${wanted} is negative`)
  return { start, wanted }
}

function finalized({ chain, certifier }: Node): Tipset {
  if (certifier !== null) return certifier.finalized
  const behind = chain.certifiesFinality ? chain.finalityEpochs : FINALITY_WITHOUT_F3
  const height = chain.head().height - behind
  if (height < 0 && !chain.certifiesFinality) throw failed(`height ${height} is negative`)
  return chain.store.atOrBelow(Math.max(0, height), chain.head())
}

function blockOf({ chain }: Node, cid: unknown) {
  const name = take.cid(cid)
  const found = chain.store.block(name)
  if (found === undefined) throw notFound(name)
  return found
}

function notFound(cid: string) {
  return failed(`ipld: could not find ${cid}`)
}
