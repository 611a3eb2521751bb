import * as z from 'zod'
import { eip55 } from '../../shared/eip55.ts'
import { canonicalAddress } from '../../shared/filecoin/address.ts'

const EVM_ADDRESS = /^0x[0-9a-fA-F]{40}$/
const WRONG_CHECKSUM = 'account has a wrong checksum: write it in lower case, or as EIP-55 spells it'
/** An ID address (f0…) has none. */
const FILECOIN_WITH_CHECKSUM = /^[ft][1-4][a-z0-9]{4,}$/
const WRONG_FILECOIN =
  'account is no Filecoin address: its checksum is wrong; copy the whole address, in lower case'
const NO_ADDRESS = 'account must be an EVM address (0x…) or a Filecoin address (f… or t…)'

/** An account's address in the form in which lists have it: an EVM address in lower case, or `f…`. */
export const account = z
  .string()
  .meta({
    description: 'An EVM address with or without its checksum, or a Filecoin address with either letter',
    examples: ['0xa513E6E4b8f2a923D98304ec87F64353C4D5C853'],
  })
  .transform((text, context) => {
    const isEvm = EVM_ADDRESS.test(text)
    const found = isEvm ? evmAccount(text) : canonicalAddress(text)
    if (found !== null) return found
    context.addIssue({ code: 'custom', message: isEvm ? WRONG_CHECKSUM : whyNoAddress(text) })
    return z.NEVER
  })

function whyNoAddress(text: string): string {
  return FILECOIN_WITH_CHECKSUM.test(text) ? WRONG_FILECOIN : NO_ADDRESS
}

/** An address in one case has no checksum. */
function evmAccount(text: string): string | null {
  const digits = text.slice(2)
  const isPlain = digits === digits.toLowerCase() || digits === digits.toUpperCase()
  return isPlain || eip55(text) === text ? text.toLowerCase() : null
}
