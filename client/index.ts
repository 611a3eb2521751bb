export * from './generated/index.js'
export { createClient, createConfig } from './generated/client/index.js'
export { neverGoBack } from './never-back.js'
