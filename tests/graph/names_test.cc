// Names from real graphs: symbolic_trace, torch.compile, torch._dynamo.export and torch.export of
// PyTorch 2.13 on ResNet, ViT, YOLO, BERT, GPT-2, DETR and modules with odd names, and older ones from the
// seeds' examples.
#include "graph/names.h"

#include <gtest/gtest.h>

#include <array>
#include <random>
#include <string>
#include <string_view>
#include <vector>

namespace opscope {
namespace {

struct Row {
  std::string_view tracer_name;
  std::string_view readable;
  std::string_view self = "self";
};

// What the name alone determines, or what is kept of it.
constexpr Row kRows[] = {
    // prefixes, indices and repetition, as Dynamo wrote them when modules were not inlined
    {"g__model___model_0_conv", "model.0.conv"},
    {"getattr_getattr_L__yolo_model___model_23_cv3_0___0_____0___conv", "model.23.cv3.0[0][0].conv"},
    {"getattr_L__self___layer1___0___conv1", "layer1[0].conv1"},
    {"getattr_L__self___layers___3__", "layers[3]"},
    {"model_____0___x", "model[0].x"},
    {"model.model.X", "model.X"},
    {"model.model.23.cv3.0.0.conv", "model.23.cv3.0.0.conv"},
    {"model.modeling.0", "model.modeling.0"},
    {"L__self___layer1_0_conv1", "layer1.0.conv1"},
    {"L__self___features_0", "features.0"},
    {"l__self___layer4_1_bn2", "layer4.1.bn2"},
    // paths stay
    {"layer1.0.conv1", "layer1.0.conv1"},
    {"heads.cls head.weight", "heads.cls head.weight"},
    {"conv1", "conv1"},
    {"x", "x"},
    {"", ""},
    // names of nodes: a number inside is a component, one at the end counts
    {"layer1_0_conv1", "layer1.0.conv1"},
    {"layer1_0_relu_1", "layer1.0.relu_1"},
    {"linear_1", "linear_1"},
    {"relu__1", "relu__1"},
    {"max_pool2d", "max_pool2d"},
    {"_native_batch_norm_legit_no_training_1", "_native_batch_norm_legit_no_training_1"},
    {"scaled_dot_product_attention_11", "scaled_dot_product_attention_11"},
    {"arg0_1", "arg0_1"},
    {"_param_constant0_1", "_param_constant0_1"},
    {"_tensor_constant0", "_tensor_constant0"},
    {"_guards_fn", "_guards_fn"},
    {"g_a_0_conv", "g_a.0.conv"},
    {"_blocks_0__depthwise_conv", "_blocks.0._depthwise_conv"},
    // torch.compile
    {"l_self_modules_layer1_modules_0_modules_conv1_parameters_weight_", "layer1.0.conv1.weight"},
    {"L_self_modules_layer1_modules_0_modules_bn1_buffers_running_mean_", "layer1.0.bn1.running_mean"},
    {"l_self_modules_layer2_modules_0_modules_downsample_modules_1_parameters_bias_",
     "layer2.0.downsample.1.bias"},
    {"l_self_modules_encoder_modules_layers_modules_encoder_layer_11_modules_self_attention_parameters_in_"
     "proj_"
     "weight_",
     "encoder.layers.encoder_layer_11.self_attention.in_proj_weight"},
    {"l_self_modules_embeddings_buffers_position_ids_", "embeddings.position_ids"},
    {"l_self_modules_model_modules_model_parameters_weight_", "model.model.weight"},
    {"l_self_modules_weight_parameters_weight_", "weight.weight"},
    {"l_self_modules_modules_modules_0_parameters_weight_", "modules.0.weight"},
    {"l_self_modules_pl_parameters_1_", "pl.1"},
    {"l_self_parameters_class_token_", "class_token"},
    {"l_self_buffers_scale_factor_", "scale_factor"},
    {"l_self_tensor_attr", "tensor_attr"},
    {"l_self_blist_0_", "blist[0]"},
    {"l_self_modules_f_parameters_weight__1", "f.weight"},
    {"l_x_", "x"},
    {"L_x_", "x"},
    {"l_input_ids_", "input_ids"},
    {"l_batch_image_", "batch_image"},
    {"l_kwargs_attention_mask_", "attention_mask"},
    {"l_args_0_", "args[0]"},
    {"l_self_modules_model_modules_22_anchors", "model.22.anchors"},
    {"l_self_mask_", "self_mask"},
    {"l_a_0_", "a[0]"},
    {"g_global_parameters_weight_", "global.weight"},
    {"G_GLOBAL_parameters_weight_", "GLOBAL.weight"},
    {"g_m_modules_f_parameters_weight_", "f.weight"},
    // forward's first argument under another name
    {"l_this_modules_body_modules_1_modules_conv_in_parameters_weight_", "body.1.conv_in.weight", "this"},
    {"l_this_parameters_scale_", "scale", "this"},
    {"l_self_parameters_scale_", "self.scale", "this"},
    {"l_me_parameters_scale_", "scale", "_me"},
    {"L__this___body_1_conv_in_weight", "body.1.conv_in.weight", "this"},
    {"L['this'].stem.conv_in", "stem.conv_in", "this"},
    // torch._dynamo.export
    {"l__self___layer1_0_conv1_weight", "layer1.0.conv1.weight"},
    {"L__self___layer1_0_bn1_num_batches_tracked", "layer1.0.bn1.num_batches_tracked"},
    {"L__self___block_conv_in_weight", "block_conv_in.weight"},
    {"L__self____hidden", "_hidden"},
    {"L__self___items__1_0_bias", "items_.1.0.bias"},
    {"L__self___heads_keys__weight", "heads_keys_.weight"},
    {"L__self___heads__lead_bias", "heads._lead.bias"},
    {"L__self___0_weight", "0.weight"},
    {"self___blist_0", "blist.0"},
    {"G__m___two_0_bias", "two.0.bias"},
    {"G____import_models___GLOBAL_weight", "GLOBAL.weight"},
    // torch.export
    {"p_layer1_0_conv1_weight", "layer1.0.conv1.weight"},
    {"b_layer1_0_bn1_running_var", "layer1.0.bn1.running_var"},
    {"p_pl_0", "pl.0"},
    {"p_w", "w"},
    {"p_in_proj_weight", "in_proj_weight"},
    {"p_logit_scale", "logit_scale"},
    {"p_attn_in_proj_weight", "attn.in_proj_weight"},
    {"p_rnn_weight_ih_l0", "rnn.weight_ih_l0"},
    {"p__hidden", "_hidden"},
    {"p_lm_head_weight", "lm_head.weight"},
    {"p_transformer_h_0_attn_c_attn_weight", "transformer_h.0.attn_c_attn.weight"},
    {"b_scale_factor", "scale_factor"},
    {"c_lifted_tensor_0", "lifted_tensor_0"},
    {"c__tensor_constant1", "_tensor_constant1"},
    {"c_tensor_attr", "tensor_attr"},
    {"c___blist_0", "blist_0"},
    {"L__self__body.1.conv_in", "body.1.conv_in"},
    {"L__self__", ""},
    {"block.act@1", "block.act"},
    // sources and module stacks
    {"L['self']._modules['layer1']._modules['0']._parameters['weight']", "layer1.0.weight"},
    {"L['self']._modules['heads']._modules['größe']._parameters['bias']", "heads.größe.bias"},
    {"L['self']._modules['model']._modules['model']", "model.model"},
    {"L['self'].layer1.0.conv1", "layer1.0.conv1"},
    {"L['self'].layer1[0].conv1", "layer1[0].conv1"},
    {"L['self'].blist[0]", "blist[0]"},
    {"L['self']", ""},
    {"L['x']", "x"},
    {"L['batch']['image']", "batch['image']"},
    {"L['kwargs']['input_ids']", "input_ids"},
    {"L['args'][0]", "args[0]"},
    {"G['m'].two.0", "two.0"},
    {"G['GLOBAL']._parameters['weight']", "GLOBAL.weight"},
    {"G['GLOBAL']", "GLOBAL"},
    {"G['__import_models'].GLOBAL", "GLOBAL"},
};

TEST(Names, SayWhatAPersonWouldWrite) {
  for (const auto& row : kRows)
    EXPECT_EQ(readable_name(row.tracer_name, row.self), row.readable) << row.tracer_name;
}

constexpr std::string_view kPaths[] = {
    "heads",
    "heads.cls head.weight",
    "heads.a-b",
    "heads.größe.weight",
    "heads._lead.bias",
    "heads.keys_.weight",
    "items_.1.0.weight",
    "model.model.weight",
    "block",
    "block.conv_in",
    "block.conv_in.weight",
    "linear",
    "linear_1",
    "MyBlock.convA.weight",
    "encoder.layers.encoder_layer_11.mlp.0.weight",
    "encoder.layers.encoder_layer_11.ln_1",
    "task_modules.0.weight",
    "model.23.cv3.0.0.0.conv",
    "b_conv",
    "a.b_c",
    "a_b.c",
    "two.0.bias",
};

// What is lost in the name and kept in the model's paths.
constexpr Row kRowsWithPaths[] = {
    {"p_heads_cls_head_weight", "heads.cls head.weight"},
    {"heads_a_b", "heads.a-b"},
    {"l_self_modules_heads_modules_gr_e_parameters_weight_", "heads.größe.weight"},
    {"p_heads_gr__e_weight", "heads.größe.weight"},
    {"heads_gr_e_weight", "heads.größe.weight"},
    {"l_self_modules_heads_modules_lead_parameters_bias_", "heads._lead.bias"},
    {"L__self___heads_keys__weight", "heads.keys_.weight"},
    {"l_self_modules_items_modules_1_modules_0_parameters_weight_", "items_.1.0.weight"},
    {"p_model_model_weight", "model.model.weight"},
    {"model.model.weight", "model.model.weight"},
    {"block_conv_in_1", "block.conv_in"},
    {"block.conv_in@1", "block.conv_in"},
    {"linear_1", "linear_1"},
    {"linear_2", "linear"},
    {"l_self_modules_my_block_modules_conv_a_parameters_weight_", "MyBlock.convA.weight"},
    {"L_self_modules_MyBlock_modules_convA_parameters_weight_", "MyBlock.convA.weight"},
    {"p_myblock_conva_weight", "MyBlock.convA.weight"},
    {"p_encoder_layers_encoder_layer_11_mlp_0_weight", "encoder.layers.encoder_layer_11.mlp.0.weight"},
    {"encoder_layers_encoder_layer_11_ln_1", "encoder.layers.encoder_layer_11.ln_1"},
    {"l_self_modules_task_modules_modules_0_parameters_weight_", "task_modules.0.weight"},
    {"l_self_modules_task_modules_modules_0_parameters_weight__1", "task_modules.0.weight"},
    {"getattr_getattr_L__yolo_model___model_23_cv3_0___0_____0___conv", "model.23.cv3.0.0.0.conv"},
    {"L['self'].model[23].cv3[0][0][0].conv", "model.23.cv3.0.0.0.conv"},
    {"b_conv", "b_conv"},
    // two paths with one key: what the name tells decides, else the first
    {"l_self_modules_a_b_parameters_c_", "a_b.c"},
    {"l_self_modules_a_parameters_b_c_", "a.b_c"},
    {"L['self']._modules['a_b']._parameters['c']", "a_b.c"},
    {"p_a_b_c", "a.b_c"},
    // of the model, or not
    {"G__m___two_0_bias", "two.0.bias"},
    {"G__GLOBAL___weight", "GLOBAL.weight"},
    {"G____import_models___GLOBAL_weight", "GLOBAL.weight"},
    {"p_unknown_0_weight", "unknown.0.weight"},
    // an argument is no module, whatever it is called
    {"l_linear_", "linear"},
    {"L['block']", "block"},
    {"L__self__", ""},
};

TEST(Names, TakeTheModelsPathWhereOneFits) {
  const TracerNames names(kPaths);
  for (const auto& row : kRowsWithPaths)
    EXPECT_EQ(names.readable(row.tracer_name), row.readable) << row.tracer_name;
}

TEST(Names, EveryPathIsReadBackFromEveryTracersFormOfIt) {
  const TracerNames names(kPaths);
  for (const auto path : kPaths) {
    std::string source = "L['self']";
    std::string rest(path);
    for (std::size_t dot = 0; dot != std::string::npos;) {
      dot = rest.find('.');
      source.append("._modules['").append(rest.substr(0, dot)).append("']");
      if (dot != std::string::npos) rest.erase(0, dot + 1);
    }
    std::string marked;
    for (const char letter : source) {
      const bool kept = (letter >= '0' && letter <= '9') || (letter >= 'a' && letter <= 'z') ||
                        (letter >= 'A' && letter <= 'Z');
      if (kept || !marked.ends_with('_')) marked += kept ? letter : '_';
    }
    EXPECT_EQ(names.readable(path), path);
    EXPECT_EQ(names.readable(source), path);
    EXPECT_EQ(names.readable(marked), path);
  }
}

TEST(Names, OutliveWhatTheyWereBuiltFrom) {
  std::vector<TracerNames> kept;
  {
    const std::string path = "layer1.0.conv_in";
    const std::array<std::string_view, 1> paths{path};
    kept.emplace_back(paths, std::string("this"));
    kept.push_back(kept.front());
  }
  EXPECT_EQ(kept.back().readable("layer1_0_conv_in_3"), "layer1.0.conv_in");
}

TEST(Names, LongOnesKeepTheirStartAndEnd) {
  constexpr std::string_view kLong = "model.23.cv3.0[0][0].conv";
  EXPECT_EQ(shortened_name(kLong, 25), kLong);
  EXPECT_EQ(shortened_name(kLong, 20), "model.23...[0].conv");
  EXPECT_EQ(shortened_name(kLong, 16), "model...conv");
  EXPECT_EQ(shortened_name("abcdefghijklmnopqrstuvwxyz", 11), "abcd...wxyz");
  EXPECT_EQ(shortened_name("abcdefghij", 4), "abcd");
  EXPECT_EQ(shortened_name("abcdefghij", 5), "a...j");
  EXPECT_EQ(shortened_name("abcdefghij", 0), "");
  EXPECT_EQ(shortened_name("größengrößengrößen", 12), "grö...ßen");
}

// Whatever is asked, nothing is read outside the name, a short name fits, and words are kept in their order.
TEST(Names, HoldOnAnyText) {
  constexpr std::array<std::string_view, 21> kPieces{
      "_",      "__", "___",      "0", "12", "l", "L", "G",  "self",     "modules", "parameters",
      "weight", "p",  "getattr_", ".", "[",  "]", "'", "@1", "\xc3\xb6", "conv"};
  const TracerNames names(kPaths);
  std::mt19937 random(5);
  for (int round = 0; round < 20000; ++round) {
    std::string name;
    for (auto count = random() % 9; count > 0; --count) name += kPieces[random() % kPieces.size()];
    const auto readable = readable_name(name);
    EXPECT_LE(readable.size(), 2 * name.size()) << name;
    EXPECT_EQ(readable.find('\n'), std::string::npos);
    (void)names.readable(name);
    const auto width = random() % 24;
    EXPECT_LE(shortened_name(name, width).size(), width) << name;
  }
}

}  // namespace
}  // namespace opscope
