/** The shape of a synthetic Filecoin chain, which determines all of it. */
export interface LotusShape {
  /** Heights, each with a tipset of five blocks; the last is the newest final one. */
  tipsets: number
  /** Messages in each tipset that concern no channel. */
  messages: number
  /** Unix seconds. */
  genesisTimeS: number
}

export const EPOCH_S = 30
const BLOCKS = 5

/** The CID contains the height, which saves look-ups. */
export function cidAt(height: number, block: number): string {
  return `bafy2bzace${height.toString().padStart(10, '0')}${'q'.repeat(41)}${block}`
}

export function heightOf(cid: unknown): number {
  return Number((cid as { '/': string })['/'].slice(10, 20))
}

/** Returns an index's name of the tipset: the CIDs of its blocks. */
export function tipsetKey(height: number): string {
  return blocksOf((block) => cidAt(height, block))
}

/** Returns the JSON-RPC text, as long as a real node's. */
export function tipsetText(height: number, genesisTimeS: number): string {
  const links = (at: number): string => blocksOf((block) => `{"/":"${cidAt(at, block)}"}`)
  const parents = height === 0 ? '' : links(height - 1)
  const time = genesisTimeS + height * EPOCH_S
  const block = `{"Miner":"t01000","Ticket":{"VRFProof":"${'A'.repeat(128)}"},"ElectionProof":{"WinCount":1,"VRFProof":"${'A'.repeat(128)}"},"BeaconEntries":[{"Round":12345678,"Data":"${'A'.repeat(128)}"}],"WinPoStProof":[{"PoStProof":3,"ProofBytes":"${'A'.repeat(256)}"}],"Parents":[${parents}],"ParentWeight":"107000000000","Height":${height},"ParentStateRoot":{"/":"${cidAt(height, 6)}"},"ParentMessageReceipts":{"/":"${cidAt(height, 7)}"},"Messages":{"/":"${cidAt(height, 8)}"},"BLSAggregate":{"Type":2,"Data":"${'A'.repeat(128)}"},"Timestamp":${time},"BlockSig":{"Type":2,"Data":"${'A'.repeat(128)}"},"ForkSignaling":0,"ParentBaseFee":"100"}`
  return `{"Cids":[${links(height)}],"Blocks":[${blocksOf(() => block)}],"Height":${height}}`
}

function blocksOf(text: (block: number) => string): string {
  return Array.from({ length: BLOCKS }, (_, block) => text(block)).join(',')
}
