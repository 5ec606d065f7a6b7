-- In a Neovim that was configured as editors/README.md says, with model.py open: waits for its diagnostics, applies the code action of their
-- first line whose title holds XLALINT_ACTION (if that is not empty), as a user does who chooses it, waits until the diagnostics are fewer, and writes what was
-- seen to XLALINT_OUT. For Neovim 0.7 and later.
local PATIENCE = 60000

local function shown()
  local found = vim.diagnostic.get(0)
  table.sort(found, function(a, b) return a.lnum < b.lnum end)
  return vim.tbl_map(function(one) return { one.code, one.lnum + 1, one.source } end, found)
end

local out = {}
vim.wait(PATIENCE, function() return #shown() > 0 end, 20)
out.before = shown()

vim.ui.select = function(items, options, choose)
  for _, item in ipairs(items) do
    local title = options.format_item(item)
    if title:find(vim.env.XLALINT_ACTION, 1, true) then return choose(item) end
  end
end
if out.before[1] and (vim.env.XLALINT_ACTION or '') ~= '' then
  vim.api.nvim_win_set_cursor(0, { out.before[1][2], 11 })
  vim.lsp.buf.code_action()
  vim.wait(PATIENCE, function() return #shown() < #out.before end, 20)
end
out.after = shown()
out.text = vim.api.nvim_buf_get_lines(0, 0, -1, false)
vim.fn.writefile({ vim.fn.json_encode(out) }, vim.env.XLALINT_OUT)
vim.cmd('qall!')
