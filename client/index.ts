export * from './generated/index.js'
export { createClient, createConfig } from './generated/client/index.js'
