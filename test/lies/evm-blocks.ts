import { BadAnswer } from '../../indexer/sources/rpc/rpc-error.ts'
import { BLOCK_LIES, telling } from './block-lies.ts'
import { startLiarOfEvm } from './evm-chain.ts'
import type { LieGroup, LieKind } from './lie-kind.ts'

const SHOWN_BY: Record<string, string> = {
  'a log left out, with root and bloom to fit': 'hash of the header',
  'a transaction with another hash': 'hash of the transaction: the true one is taken',
  'a transaction changed': 'root of transactions',
  'a header changed': 'hash of the header',
  'a block that looks empty': 'hash of the header',
}

/** Blocks as they are read at the head and by `ops verify`: by their receipts. */
export const evmBlocks: LieGroup = {
  name: 'evm-blocks',
  about: 'blocks of an EVM chain, as they are read at the head and by verify',
  async begin(t, seed) {
    const { node, places, readBlock } = await startLiarOfEvm(t, seed)
    return Object.entries(BLOCK_LIES).map(([name, make]): LieKind => ({
      name,
      shownBy: SHOWN_BY[name] ?? 'root of receipts',
      async tell(random) {
        const { target, truth } = random.pick(places)
        node.fault = telling(make(target, random), target.hash)
        try {
          const read = await readBlock(target.hash)
          return JSON.stringify(read) === JSON.stringify(truth) ? 'harmless' : 'accepted'
        } catch (error) {
          if (error instanceof BadAnswer) return 'refused'
          throw error
        } finally {
          node.fault = () => null
        }
      },
    }))
  },
}
