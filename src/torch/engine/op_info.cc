#include "torch/engine/op_info.h"

namespace opscope::engine {

namespace {

ArgumentForm form_of(const c10::Argument& argument) {
  auto type = argument.real_type();
  if (type->kind() == c10::TypeKind::OptionalType)
    type = type->castRaw<c10::OptionalType>()->getElementType();
  switch (type->kind()) {
    case c10::TypeKind::ScalarTypeType:
      return ArgumentForm::kDType;
    case c10::TypeKind::LayoutType:
      return ArgumentForm::kLayout;
    case c10::TypeKind::MemoryFormatType:
      return ArgumentForm::kMemoryFormat;
    default:
      return ArgumentForm::kPlain;
  }
}

}  // namespace

std::unique_ptr<OpInfo> OpInfos::make(const c10::OperatorHandle& op) {
  auto info = std::make_unique<OpInfo>();
  const auto& schema = op.schema();
  const std::string& name = schema.name();
  info->target = graph_.add_target(name, schema.overload_name());
  info->cost = find_rule(name);
  info->facts = info->cost ? &facts_of(*info->cost) : &facts_of(name);
  info->shape = find_shape_rule(name, schema.overload_name());
  info->scratch = find_cuda_scratch(name);
  info->on_cuda = find_cuda_route(name);
  info->composite = op.hasKernelForDispatchKey(c10::DispatchKey::CompositeImplicitAutograd);
  info->ignored = name.starts_with("profiler::") || name.starts_with("prim::");
  info->makes_sparse = name == "aten::_spdiags" || name.starts_with("aten::_sparse_coo_tensor_with_dims") ||
                       name.starts_with("aten::_sparse_compressed_tensor");
  info->custom = !name.starts_with("aten::") && !name.starts_with("prims::");
  info->declared = declared.contains(name);
  info->known_sizes = info->is(Fact::kPacked) || (schema.overload_name() == "data" && info->cost &&
                                                  info->cost->category == Category::kRecurrent);
  info->arguments = schema.arguments().size();
  info->returns = schema.returns().size();
  info->names.reserve(info->arguments);
  info->forms.reserve(info->arguments);
  for (const auto& argument : schema.arguments()) {
    if (argument.name() == "device") info->device_argument = info->names.size();
    info->names.push_back(graph_.intern(argument.name()));
    info->forms.push_back(form_of(argument));
    info->written.push_back(argument.alias_info() != nullptr && argument.alias_info()->isWrite());
    info->writes |= info->written.back();
    // Norms update their running statistics in training, and their schemas are silent about it.
    const bool statistic = argument.name() == "running_mean" || argument.name() == "running_var";
    info->journalled.push_back(info->written.back() || statistic);
    info->journals |= info->journalled.back();
  }
  return info;
}

OpInfo& OpInfos::of(const c10::OperatorHandle& op) {
  auto& slot = infos_[&op.operator_name()];
  if (!slot) slot = make(op);
  return *slot;
}

std::map<std::string, std::uint32_t> OpInfos::runs(std::uint32_t OpInfo::*count) const {
  std::map<std::string, std::uint32_t> result;
  for (const auto& [key, info] : infos_)
    if (info.get()->*count)
      result[std::string(graph_.text(graph_.targets[info->target].name))] += info.get()->*count;
  return result;
}

}  // namespace opscope::engine
