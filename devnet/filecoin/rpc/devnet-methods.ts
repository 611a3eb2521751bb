import { formatAddress } from '../../../shared/filecoin/address.ts'
import { messageOf } from '../../../shared/errors.ts'
import type { ReorgOptions } from '../chain/reorg-plan.ts'
import { headChangeForm, link, tipsetForm } from './forms.ts'
import { admin, type Methods } from './method.ts'
import * as take from './params.ts'
import { failed } from './rpc-error.ts'

/** Methods that no real node has, for callers in another process. Their names begin with `Devnet.`. */
export const devnetMethods: Methods = {
  /** Takes the number of tipsets; returns the new head. */
  Mine: admin(1, async ({ chain }, [tipsets]) =>
    tipsetForm(await chain.mine(take.integer(tipsets)), chain.letter),
  ),
  NullRound: admin(1, ({ chain }, [epochs]) => chain.nullRound(take.integer(epochs))),
  Skip: admin(1, ({ chain }, [epochs]) => chain.skip(take.integer(epochs))),
  /** Takes the depth and options of a reorg; returns the changes of the head. */
  Reorg: admin(2, ({ chain }, [depth, options]) => {
    try {
      const { changes } = chain.reorg(take.integer(depth), readOptions(options))
      return changes.map((change) => headChangeForm(change, chain.letter))
    } catch (error) {
      throw failed(messageOf(error))
    }
  }),
  /** Takes an address and attoFIL as text; returns the CID of the faucet's message. */
  Fund: admin(2, async ({ chain }, [address, attoFil]) =>
    link(await chain.fund(formatAddress(take.address(address), chain.letter), take.bigInteger(attoFil))),
  ),
}

function readOptions(value: unknown): ReorgOptions {
  const form = take.record(value ?? {})
  const part = (name: string): number => {
    const found = form[name] ?? 0
    if (typeof found !== 'number' || found < 0 || found > 1) throw failed(`${name} must be from 0 to 1`)
    return found
  }
  const without = take.list(form['without'] ?? []).map(take.cid)
  return { drop: part('drop'), fail: part('fail'), reorder: form['reorder'] === true, without }
}
