/** (pure) Whether the service runs on the devnet of `npm start`. */
import type { ActivityRecord, NetworkHealth } from '../../../../client/generated/types.gen.ts'

/** The chain id of local development chains. */
const DEVNET_CHAIN = '31337'

export function isDevnet(networks: readonly Pick<NetworkHealth, 'networkId'>[]): boolean {
  return networks.some(({ networkId }) => networkId === DEVNET_CHAIN)
}

/** Events of loans that used both chains and a secret, the most telling first. */
export const TELLING_EVENTS = [
  'LendERC20/RedeemUnlockCollateralVoucher',
  'LendFIL/RedeemPaybackVoucher',
  'LendERC20/RedeemSeizeCollateralVoucher',
  'Withdraw',
] as const

/** The record whose loan is worth a look: the newest of the most telling event. */
export function tellingRecord(records: readonly ActivityRecord[]): ActivityRecord | undefined {
  for (const event of TELLING_EVENTS) {
    const found = records.find((record) => record.event === event)
    if (found !== undefined) return found
  }
  return records[0]
}
